"""Whether one article repeats the text of another one: in other words, under another headline, cut, or at another
address. Pure.

Any of these tells it, and nothing else does, since putting different articles together is worse than missing a copy:

* `same_lead`: the leads are the same, or one is the start of the other. Of one publisher, the headlines must agree too,
  since a publisher begins the issues of a series alike.
* `same_headline`: the headlines are the same, they say enough, and the publishers differ: agencies' headlines are
  printed with leads that each publisher writes.
* `similar_headline`: the headlines are nearly the same, chose the same words besides names and numbers, neither says
  the contrary of the other, and the leads do not contradict it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

from services.stories.signature import Signature
from services.stories.terms import FUNCTION_WORDS, NEGATIONS, OPPOSITES, SERIES_WORDS, terms_of, weight

SAME_LEAD = 0.68
"""Share of the shorter lead's shingles that the other lead has."""
FEWEST_SHINGLES = 12
"""Shared by leads that are the same: independent articles share usual phrases, and quotations."""
OWN_LEAD = 0.75
"""The same share, asked of leads of one publisher, of reports of markets, and of standing texts."""
COPIED = (20, 0.8, 0.35)
"""From so many shared shingles at such a share, a headline that is less like the other one was written anew."""

FEWEST_TELLING = 3
"""Words that a headline must have, besides usual ones of news, to identify an article."""
OWN_HEADLINE = 0.6
"""The likeness of headlines of one publisher, from which equal leads count; and from which others may be a template."""
OWN_HOURS = 12
"""Within which one publisher's equal headline is another address of the article, not the next issue."""
LIKE = 0.85
"""The likeness from which headlines are nearly the same; CONTAINED less if one has all words of the other, or if they
have the same words in another order."""
CONTAINED = 0.08
IN_ORDER = 0.84
"""The least share of words in the same order."""
CHOSEN, CHOSEN_IN_ALL = 11.0, 7.0
"""What the words must say that both headlines chose, unless the headlines are equal; the second figure if one has all
words of the other: of one event, many write the same in few words."""
MUCH, MAX_LIKE = 14.0, 0.88
"""If they say less than the first figure, the headlines must be so much alike."""
TURNED = 5
"""Telling words of headlines that have the same ones in another order."""

_OF_ISSUES = ("number", "quarter", "month", "day", "time", "part")
"""The marks that tell the issues of a series apart."""
TELLS_LITTLE = frozenset(terms_of(SERIES_WORDS))


class Likeness(NamedTuple):
    """How alike the texts of two articles are. `headlines`: from the share of their telling words and of those in the
    same order. `shared`: shingles of both leads; `lead`: their share in the shorter lead, null without a lead."""

    headlines: float
    in_order: float
    shared: int
    lead: float | None


def likeness(one: Signature, other: Signature) -> Likeness:
    shared, lead = shared_lead(one, other)
    few = len(one.subject.headline.keys() & other.subject.headline.keys()) < FEWEST_TELLING
    if (few and shared < FEWEST_SHINGLES) or not (one.subject.headline or other.subject.headline):
        return Likeness(0.0, 0.0, shared, lead)  # no rule tells it: comparing the words takes longer
    in_order = 2 * _in_order(one.words, other.words) / (len(one.words) + len(other.words))
    mine, theirs = one.word_set - FUNCTION_WORDS, other.word_set - FUNCTION_WORDS
    both = len(mine & theirs) / max(1, len(mine | theirs))
    return Likeness((both + in_order) / 2, in_order, shared, lead)


def shared_lead(one: Signature, other: Signature) -> tuple[int, float | None]:
    """The shingles that the leads share: how many, and their share in the shorter lead, null without a lead."""
    least = min(len(one.shingles), len(other.shingles))
    shared = len(one.shingles & other.shingles)
    return shared, shared / least if least else None


def copied_by(one: Signature, other: Signature, alike: Likeness) -> str | None:
    """The rule by which one of the articles repeats the other; null if no rule tells it."""
    own = one.publisher == other.publisher  # where neither is known, nothing says that they are two
    if own and (one.marks != other.marks or _has_other_name(one, other)):
        return None
    if has_other_mark(one, other, *_OF_ISSUES) and not _is_rewritten(alike):
        return None
    if _is_same_lead(one, other, alike, own=own):
        return "same_lead"
    if _is_same_headline(one, other, alike, own=own):
        return "same_headline"
    return "similar_headline" if not own and _is_similar_headline(one, other, alike) else None


def _is_rewritten(alike: Likeness) -> bool:
    """Whether the lead is the same, and one headline was written anew."""
    fewest, least, most_alike = COPIED
    return alike.lead is not None and alike.shared >= fewest and alike.lead >= least and alike.headlines < most_alike


def _is_same_lead(one: Signature, other: Signature, alike: Likeness, *, own: bool) -> bool:
    if alike.lead is None or alike.shared < FEWEST_SHINGLES:
        return False
    if own and (alike.headlines < OWN_HEADLINE or not _identifies(one, other)):
        return False
    market = one.subject.is_market_report and other.subject.is_market_report  # each day's are written alike
    return alike.lead >= (OWN_LEAD if own or market else SAME_LEAD)


def _is_same_headline(one: Signature, other: Signature, alike: Likeness, *, own: bool) -> bool:
    """Whether the headlines are equal, or one is the start of the other and is cut, and identify the article."""
    if one.words != other.words and not _is_start(one, other) and not _is_start(other, one):
        return False
    if not _identifies(one, other):
        return False
    if own:
        return abs(one.minute - other.minute) <= OWN_HOURS * 60 and (alike.lead is None or alike.lead >= SAME_LEAD)
    return True


def _identifies(one: Signature, other: Signature) -> bool:
    """Whether the terms of both headlines are enough to identify an article."""
    both = one.subject.headline.keys() & other.subject.headline.keys()
    return len(both) >= FEWEST_TELLING and len(both - TELLS_LITTLE) >= 2


def _is_start(cut: Signature, whole: Signature) -> bool:
    words = len(cut.words)
    return cut.is_cut and 4 < words < len(whole.words) and whole.words[: words - 1] == cut.words[:-1]


def _is_similar_headline(one: Signature, other: Signature, alike: Likeness) -> bool:
    mine, theirs = one.subject.headline.keys(), other.subject.headline.keys()
    if len((mine & theirs) - TELLS_LITTLE) < FEWEST_TELLING:
        return False
    if is_contrary(one, other) or _has_other_name(one, other):
        return False
    if len(mine - theirs) == len(theirs - mine) == 1:  # one word was exchanged, as in a template
        return False
    chosen = chosen_words(one, other)
    if _is_turned(one, other):
        return len(mine & theirs) >= TURNED and chosen >= CHOSEN_IN_ALL
    contained = mine <= theirs or theirs <= mine
    asked = LIKE - CONTAINED * contained
    if alike.lead is None:
        enough = CHOSEN_IN_ALL if contained else CHOSEN
        asked = 1.0 if chosen < enough else max(asked, MAX_LIKE) if chosen < MUCH else asked
    return alike.headlines >= min(asked, 1.0) and alike.in_order >= IN_ORDER


def _is_turned(one: Signature, other: Signature) -> bool:
    """Whether the headlines have the same telling words in another order."""
    mine, theirs = ([word for word in each.words if word not in FUNCTION_WORDS] for each in (one, other))
    return mine != theirs and set(mine) == set(theirs)


def is_contrary(one: Signature, other: Signature) -> bool:
    """Whether one headline denies something, says the contrary of what the other says, or has the same names in another
    order ("Acme sues Globex", "Globex sues Acme"); who says it may stand at either end."""
    if NEGATIONS.isdisjoint(one.words) != NEGATIONS.isdisjoint(other.words):
        return True
    mine, theirs = one.word_set - other.word_set, other.word_set - one.word_set
    if any(
        (not this.isdisjoint(mine) and not that.isdisjoint(theirs))
        or (not this.isdisjoint(theirs) and not that.isdisjoint(mine))
        for this, that in OPPOSITES
    ):
        return True
    names = set(one.headline_names) & set(other.headline_names)
    first, second = one.words, other.words
    if [word for word in first if word in names] == [word for word in second if word in names]:
        return False
    return first[1:] != second[:-1] and first[:-1] != second[1:]


def _has_other_name(one: Signature, other: Signature) -> bool:
    """Whether each headline has a name that the other lacks: the same words may be about another place or company."""
    mine, theirs = one.subject, other.subject
    return not (mine.names <= theirs.headline.keys() or theirs.names <= mine.headline.keys())


def chosen_words(one: Signature, other: Signature) -> float:
    """How much the words say that both headlines chose: those that are no names, numbers or amounts. What many write
    of one event has the same names and amounts, and usual verbs: "Acme buys Globex for $3 billion"."""
    names = one.subject.names & other.subject.names
    shared = one.subject.headline.keys() & other.subject.headline.keys()
    return sum(weight(term) for term in shared if term not in names and term[0].isalpha())


def has_other_mark(one: Signature, other: Signature, *kinds: str) -> bool:
    """Whether each headline has a mark of one of these kinds that the other lacks: another number, quarter or day. A
    part is one of a series even if only one headline names it."""
    for kind in kinds if one.marks != other.marks else ():
        mine, theirs = ({mark for mark in each.marks if mark.startswith(f"{kind}:")} for each in (one, other))
        if mine != theirs and ((mine - theirs and theirs - mine) or kind == "part"):
            return True
    return False


def _in_order(one: Sequence[str], other: Sequence[str]) -> int:
    """The length of the longest common subsequence."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(other):
        places.setdefault(word, []).append(at)
    ends: list[int] = []  # ends[n]: where the earliest common subsequence of n + 1 words ends
    for word in one:
        for at in reversed(places.get(word, ())):
            length = bisect_left(ends, at)
            ends[length : length + 1] = [at]
    return len(ends)
