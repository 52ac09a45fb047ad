"""Whether an article repeats another one: in other words, under another headline, cut, or at another address. Pure.

The ladder, from the top; the first rung that applies decides:

1. More than 72 hours apart: no.
2. The headlines differ in what tells the issues of a series apart (numbers, versions, quarters, dates, parts), or in
   the names in an otherwise equal headline: no, unless the headline was rewritten and the lead is the same.
3. The leads are the same, or one is the start of the other: yes. Of one publisher, the headlines must agree too, since
   a publisher begins the issues of a series alike.
4. The leads are similar, and so are the headlines: yes.
5. The headlines are the same, they say enough, and the publishers differ: yes. Agencies' headlines are printed with
   leads that each publisher writes.
6. The headlines are nearly the same, neither says the contrary of the other or has another word in one place, and the
   leads do not contradict it: yes.

Putting different articles together is worse than missing a repetition: what no rung decides is no near-duplicate.
services/stories/similarity.py decides which articles are about one event.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from models.story import Reason
from services.parse.words import is_unspaced
from services.stories.headline import stem
from services.stories.likeness import Likeness, chosen_words, likeness
from services.stories.lists import FUNCTION_WORDS, GENRES, NEGATIONS, NUMBERS, OPPOSITES, SERIES_WORDS
from services.stories.signature import Signature, word_id
from services.stories.terms import terms_of

WITHIN_MINUTES = 72 * 60
"""Between the publications of near-duplicates."""

SAME_LEAD = 0.64
"""Share of the shorter lead's shingles that the other lead has, plus a part of the headlines' likeness."""
HEADLINE_PART = 0.2
FEWEST_SHINGLES = 12
"""Shared by leads that may be enough without the headline: independent articles share usual phrases, and quotations."""
ENOUGH_SHINGLES = 22
PER_MISSING_SHINGLE = 0.02
"""What each shingle fewer than enough adds to the share that is asked."""
SHORT_LEAD = (5, 0.66, 0.6)
"""For shorter leads: shared shingles, their share, and the likeness of the headlines."""
COPIED_LEAD = (20, 0.8, 0.35)
"""From so many shared shingles at such a share, numbers in headlines that are less alike than this do not matter."""

SERIES_LEAD = 0.9
"""Asked of leads if the headlines say too little to identify an article."""
OWN_SERIES = 0.6
"""The likeness of headlines of one publisher, from which equal leads count."""
OWN_LEAD = 0.75
OWN_WORDS = 0.5
"""Headlines that share more than this part of their terms are not under a standing text by chance."""
OWN_HOURS = 12
"""Within which one publisher's equal headline is another address of the article, not the next issue."""

MARKET_LEAD = 0.75
"""Asked of reports of how markets moved: each day's are written alike."""

FEWEST_TELLING = 3
"""Words that a headline must have, besides usual ones of news, to identify an article."""
FEWEST_OF_GENRE = 6
"""Reviews of one thing, and the like, have equal headlines although they were written independently."""
OTHER_LEAD = 0.1
"""Below this share, long leads have nothing in common."""
LIKENESS = {3: 1.0, 4: 0.93, 5: 0.9, 6: 0.85, 7: 0.81, 8: 0.77}
"""The likeness from which headlines are nearly the same, by the terms that they share."""
LEAST_LIKENESS = 0.75
"""If they share more terms."""
CONTAINED = 0.08
"""Less is asked if one headline has all words of the other."""
FEWEST_CONTAINED = 4
"""If they share so many terms."""
IN_ORDER = 0.84
"""The least share of words in the same order."""
CONTAINED_IN_ORDER = 0.8
"""The same, if one headline has all words of the other."""
TURNED = (5, 7.0, 0.6)
"""Headlines with the same telling words in another order: so many of them, so much chosen, and so much in order."""
CHOSEN = ((11.0, 1.0), (14.0, 0.88))
"""Where both headlines chose less than this, the likeness that is asked at least: of one event, many write the same in
few words. See `chosen_words`."""
CHOSEN_CONTAINED = ((7.0, 1.0), (14.0, 0.88))
"""The same, if one headline has all words of the other."""
SOME_LEAD = 0.3
"""From this share on, like leads tell enough, however little the headlines chose."""

_TELLS_LITTLE = frozenset(map(stem, SERIES_WORDS))
_GENRES = frozenset(map(stem, GENRES))
_SYMBOLS = frozenset("$%\u20ac\u00a3")
_SPELLED = {term: number for word, number in NUMBERS.items() for term in terms_of([word])}
"""The numbers that terms spell."""


def near_duplicate(one: Signature, other: Signature) -> Reason | None:
    """Why one repeats the other; None if neither does, as far as the signatures tell. The same for both orders."""
    minutes = abs(one.minute - other.minute)
    if minutes > WITHIN_MINUTES:
        return None
    shared, share = shared_lead(one, other)
    if shared < SHORT_LEAD[0] and len(one.stems & other.stems) < FEWEST_TELLING:
        return None
    headlines = likeness(one, other)
    rule = _rule(one, other, shared, share, headlines)
    if rule is None:
        return None
    return Reason(
        rule=rule,
        score=round(share if rule == "same_lead" and share is not None else headlines.score, 3),
        fields={
            "lead": None if share is None else round(share, 3),
            "headline": round(headlines.score, 3),
            "hours": round(minutes / 60, 1),
        },
    )


def _rule(one: Signature, other: Signature, shared: int, share: float | None, headlines: Likeness) -> str | None:
    own = is_own(one, other)
    if own and (set(one.marks) != set(other.marks) or _other_names(one, other)):
        return None
    if _is_other_issue(one, other) and not _is_copied(shared, share, headlines):
        return None
    if (
        share is not None
        and _is_same_lead(one, other, shared, share, headlines, own=own)
        and not _is_template(one, other, headlines)
        and not is_boilerplate(one, other)
    ):
        return "same_lead"
    if _is_same_headline(one, other, share, own=own):
        return "same_headline"
    if not own and _is_similar_headline(one, other, share, headlines) and not _is_template(one, other, headlines):
        return "similar_headline"
    return None


def is_own(one: Signature, other: Signature) -> bool:
    """Whether one publisher has both. Where neither is known, nothing says that they are two: all videos of a channel
    have its standing text."""
    return one.publisher == other.publisher


def shared_lead(one: Signature, other: Signature) -> tuple[int, float | None]:
    """The shingles that the leads share: how many, and their share in the shorter lead, None without a lead."""
    least = min(len(one.shingles), len(other.shingles))
    if not least:
        return 0, None
    shared = len(one.shingles & other.shingles)
    return shared, shared / least


def _is_copied(shared: int, share: float | None, headlines: Likeness) -> bool:
    """Whether the lead is the same, and one headline was written anew."""
    fewest, least, alike = COPIED_LEAD
    return share is not None and shared >= fewest and share >= least and headlines.score < alike


def _is_same_lead(
    one: Signature, other: Signature, shared: int, share: float, headlines: Likeness, *, own: bool
) -> bool:
    if len((one.stems | other.stems) - _TELLS_LITTLE) < 2 and (own or share < SERIES_LEAD):
        return False
    if own and (share < OWN_LEAD or headlines.score < OWN_SERIES or headlines.shared < FEWEST_TELLING):
        return False
    if share < MARKET_LEAD and one.subject.is_market_report and other.subject.is_market_report:
        return False
    if shared >= FEWEST_SHINGLES:
        missing = max(0, ENOUGH_SHINGLES - shared)
        return share + HEADLINE_PART * headlines.score >= SAME_LEAD + PER_MISSING_SHINGLE * missing
    fewest, least, alike = SHORT_LEAD
    return shared >= fewest and share >= least and headlines.score >= alike


def _is_same_headline(one: Signature, other: Signature, share: float | None, *, own: bool) -> bool:
    """Whether the headlines are equal, or one is the start of the other and is cut, and identify the article."""
    if one.words != other.words and not _is_start(one, other) and not _is_start(other, one):
        return False
    telling = one.stems & other.stems
    if len(telling) < FEWEST_TELLING or len(telling - _TELLS_LITTLE) < 2:
        return False
    if telling & _GENRES and len(telling) < FEWEST_OF_GENRE:
        return False
    if own:
        return abs(one.minute - other.minute) <= OWN_HOURS * 60 and (share is None or share >= SAME_LEAD)
    if share is not None and share < OTHER_LEAD:
        return len(telling - _TELLS_LITTLE) > FEWEST_TELLING
    return True


def _is_start(cut: Signature, whole: Signature) -> bool:
    words = len(cut.words)
    return cut.is_cut and 4 < words < len(whole.words) and whole.words[: words - 1] == cut.words[:-1]


def _is_similar_headline(one: Signature, other: Signature, share: float | None, headlines: Likeness) -> bool:
    telling = (one.stems & other.stems) - _TELLS_LITTLE
    if len(telling) < FEWEST_TELLING:
        return False
    mine, theirs = _only_in(one, other), _only_in(other, one)
    if _is_contrary(one, other) or _is_substituted(mine, theirs) or _is_exchanged(one, other):
        return False
    chosen, contained = chosen_words(one, other), not mine or not theirs
    if headlines.is_turned and (share is None or share >= SOME_LEAD):
        fewest, least, in_order = TURNED
        return headlines.shared >= fewest and chosen >= least and headlines.in_order >= in_order
    if headlines.in_order < (CONTAINED_IN_ORDER if contained else IN_ORDER):
        return False
    shared = sum(term not in _SYMBOLS for term in one.subject.headline.keys() & other.subject.headline.keys())
    asked = LIKENESS.get(shared, LEAST_LIKENESS)
    if shared >= FEWEST_CONTAINED and contained:
        asked -= CONTAINED
    if share is None or share < SOME_LEAD:
        least = next((least for below, least in (CHOSEN_CONTAINED if contained else CHOSEN) if chosen < below), 0.0)
        asked = max(asked, least)
    if share is not None:
        asked += 0.1 if share < OTHER_LEAD else 0.0 if share < SOME_LEAD else -0.1
    return headlines.score >= min(asked, 1.0) and not _other_names(one, other)


def _is_contrary(one: Signature, other: Signature) -> bool:
    """Whether one headline denies something, or says the contrary of what the other says."""
    if NEGATIONS.isdisjoint(one.words) != NEGATIONS.isdisjoint(other.words):
        return True
    mine, theirs = one.word_set - other.word_set, other.word_set - one.word_set
    return any(
        (not this.isdisjoint(mine) and not that.isdisjoint(theirs))
        or (not this.isdisjoint(theirs) and not that.isdisjoint(mine))
        for this, that in OPPOSITES
    )


def _is_exchanged(one: Signature, other: Signature) -> bool:
    """Whether the same names are in another order: "Acme sues Globex", "Globex sues Acme". Who says it may stand at the
    start of one headline and at the end of the other."""
    names = set(one.headline_names) & set(other.headline_names)
    mine, theirs = one.wording.words, other.wording.words
    if [word for word in mine if word in names] == [word for word in theirs if word in names]:
        return False
    return mine[1:] != theirs[:-1] and mine[:-1] != theirs[1:]


def _only_in(one: Signature, other: Signature) -> list[str]:
    """What only one of the headlines says."""
    said = {_SPELLED.get(term, term) for term in other.subject.headline} | other.stems
    return [term for term in one.subject.headline if _SPELLED.get(term, term) not in said and stem(term) not in said]


def _is_substituted(mine: Collection[str], theirs: Collection[str]) -> bool:
    """Whether the headlines differ in one word of each: so do those of a template. In a script without spaces, a word
    is several pairs of letters."""
    if not mine or not theirs:
        return False
    return len(mine) == len(theirs) == 1 or any(map(is_unspaced, (*mine, *theirs)))


def is_boilerplate(one: Signature, other: Signature) -> bool:
    """Whether the leads are the same, and say nothing of what only one headline says: a publisher's standing text. Of
    one publisher, it is enough that they say nothing of one of the headlines."""
    shared, share = shared_lead(one, other)
    if share is None or shared < SHORT_LEAD[0] or share < OWN_LEAD:
        return False
    mine, theirs = one.subject.headline.keys(), other.subject.headline.keys()
    if not mine - theirs or not theirs - mine or len(mine & theirs) > OWN_WORDS * min(len(mine), len(theirs)):
        return False
    said = _is_in_lead(one, other), _is_in_lead(other, one)
    return not all(said) if is_own(one, other) else not any(said)


def _is_in_lead(one: Signature, other: Signature) -> bool:
    """Whether the lead has a word that only its own headline has."""
    return any(word_id(word) in one.lead_set for word in one.word_set - other.word_set if word not in FUNCTION_WORDS)


def _is_other_issue(one: Signature, other: Signature) -> bool:
    """Whether each headline has a mark of some class that the other lacks: other numbers, another quarter or day. A
    part is one of a series even if only one headline names it."""
    for kind in _KINDS:
        mine = {mark for mark in one.marks if mark.startswith(kind)}
        theirs = {mark for mark in other.marks if mark.startswith(kind)}
        if mine != theirs and ((mine - theirs and theirs - mine) or kind == "part:"):
            return True
    return False


_KINDS = ("number:", "quarter:", "month:", "day:", "time:", "part:")


def _other_names(one: Signature, other: Signature) -> bool:
    """Whether each headline has a name that the other lacks: the same words may be about another place or company."""
    return bool(_names_besides(one, other) and _names_besides(other, one))


def _names_besides(one: Signature, other: Signature) -> list[str]:
    return [name for name in one.headline_names if stem(name) not in other.stems and name not in other.word_set]


def _is_template(one: Signature, other: Signature, headlines: Likeness) -> bool:
    """Whether like leads are about different things. In like headlines, each has a name that the other article lacks,
    or a word that is in its own lead and not in the other one; in unlike headlines, such a name."""
    if headlines.score < OWN_SERIES:
        return _says_other(one, other, _names_besides(one, other)) and _says_other(
            other, one, _names_besides(other, one)
        )
    if _is_of_another(one, other) and _is_of_another(other, one):
        return True
    return _says_other(one, other, one.words) and _says_other(other, one, other.words)


def _is_of_another(one: Signature, other: Signature) -> bool:
    names = [word_id(name) for name in _names_besides(one, other)]
    return bool(names) and other.lead_set.isdisjoint(names)


def _says_other(one: Signature, other: Signature, words: Sequence[str]) -> bool:
    """Whether one of these words of a headline is in its own lead, and the other article lacks it."""
    ids = (word_id(word) for word in words if stem(word) in one.stems - other.stems)
    return any(each in one.lead_set and each not in other.lead_set for each in ids)
