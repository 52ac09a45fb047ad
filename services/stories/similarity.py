"""How alike two articles are, from 0 to 1: from NEAREST on they may report one event, from COPY on one repeats the
other. Pure.

1. More than 72 hours apart: 0.
2. Their headlines name other issues of a series (versions, quarters, parts, numbered products): 0. So if the headlines
   are alike and the articles are about other things: each has a name that the other article lacks, they differ in their
   numbers only, or they are one sentence with other words in two places (a template). So if the leads are a standing
   text.
3. One repeats the wording of the other (services/stories/wording.py): from COPY on.
4. One is a digest of several events, or they share usual words of headlines only: 0. Both report how markets moved, on
   another day or in another direction: 0.
5. Else the terms decide that they share, each weighed by how much it says: in headline and lead together, those of a
   headline that the other article has at all, and those of both headlines that are no names. Much of it must be the
   same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from models.story import SILENCE, Reason
from services.parse.text import is_unspaced
from services.stories.signature import Signature, Subject, word_id
from services.stories.terms import FUNCTION_WORDS, MONTHS, WEEKDAYS, terms_of, weight
from services.stories.wording import OWN_LEAD, TELLS_LITTLE, copied_by, has_other_mark, likeness, shared_lead

BY_TERMS = "same_event"
COPY = 0.9
"""From this similarity on, an article repeats another one."""
NEAREST = 0.65
"""From this similarity on, an article may belong to the story of another one."""
OPENING = 0.5
"""From this similarity on, an article is similar enough to the opening article of a story."""
WITHIN_MINUTES = int(SILENCE.total_seconds()) // 60

ALL_TERMS = 0.5
"""What it adds if all terms are the same."""
HEADLINES = 0.667
"""What it adds if each article has all terms of the other's headline."""
SHARED_WORD = 0.0125
"""What a term of both headlines that is no name adds for each unit that it says."""
SHARED_NUMBER = 0.03
NO_SHARED_NAME = 0.3
"""What it takes away if both headlines have names, and the articles share none of them."""
MARKET_HOURS = 12

TEMPLATE = 0.6
"""The share of equal terms in headlines that are alike."""
FRAME = 0.4
"""The share of equal terms in headlines of which one sentence was filled in, in FEWEST_FILLED places, each with a term
that says FILLING."""
FILLING = 3.5
FEWEST_FILLED = 2
FEWEST_TELLING = 2
"""Shared terms that are no usual words of headlines."""
SAID_IN_LEAD = 1 / 3
"""The least share of a headline's own words that a lead has which is about it."""

_DATES = frozenset(terms_of((*MONTHS, *WEEKDAYS)))


@dataclass(frozen=True, slots=True)
class Comparison:
    """How alike two articles are: `score`, and the rule that says so."""

    score: float
    rule: str
    one: Signature
    other: Signature

    @property
    def is_copy(self) -> bool:
        return self.score >= COPY

    def reason(self, with_article: str, more: Mapping[str, float | str | None] | None = None) -> Reason:
        """What it follows from, for the merge ledger."""
        fields = (_copied if self.is_copy else _told)(self.one, self.other)
        hours = round(abs(self.one.minute - self.other.minute) / 60, 1)
        fields = {**fields, "hours": hours, **(more or {})}
        return Reason(rule=self.rule, score=round(self.score, 3), fields=fields, with_article=with_article)


def compare(one: Signature, other: Signature) -> Comparison:
    """The same for both orders."""
    if abs(one.minute - other.minute) > WITHIN_MINUTES:
        return Comparison(0.0, BY_TERMS, one, other)
    mine, theirs = one.subject, other.subject
    shared = mine.terms.keys() & theirs.terms.keys()
    if len(shared) < FEWEST_TELLING and len(one.shingles & other.shingles) == 0:
        return Comparison(0.0, BY_TERMS, one, other)
    alike = likeness(one, other)
    rule = copied_by(one, other, alike)
    if rule is not None and (rule == "same_headline" or not is_apart(one, other)):
        lead = alike.lead if rule == "same_lead" and alike.lead is not None else alike.headlines
        return Comparison(COPY + (1 - COPY) * lead, rule, one, other)
    score = min(told_alike(one, other), COPY - 0.001)
    if score >= OPENING and (_is_no_event(mine, theirs) or _is_other_market(one, other) or is_apart(one, other)):
        return Comparison(0.0, BY_TERMS, one, other)
    return Comparison(max(score, 0.0), BY_TERMS, one, other)


def told_alike(one: Signature, other: Signature) -> float:
    """How much of what the articles tell is the same."""
    mine, theirs = one.subject, other.subject
    shared = mine.terms.keys() & theirs.terms.keys()
    if len(shared) < FEWEST_TELLING or any(each.headline.keys().isdisjoint(shared) for each in (mine, theirs)):
        return 0.0
    both = mine.headline.keys() & theirs.headline.keys()
    names = mine.names | theirs.names
    score = ALL_TERMS * _of_all_terms(mine, theirs) + HEADLINES * _of_headlines(mine, theirs)
    score += SHARED_WORD * sum(mine.headline[term] for term in both if term not in names)
    score += SHARED_NUMBER * sum(mine.terms[term] for term in shared if term[0].isdigit())
    if mine.names and theirs.names and names.isdisjoint(shared):
        score -= NO_SHARED_NAME
    return score


def _told(one: Signature, other: Signature) -> dict[str, float | str | None]:
    mine, theirs = one.subject, other.subject
    shared = sorted(mine.terms.keys() & theirs.terms.keys(), key=lambda term: (-mine.terms[term], term))
    return {
        "terms": " ".join(shared[:8]),
        "of_all_terms": round(_of_all_terms(mine, theirs), 3),
        "of_headlines": round(_of_headlines(mine, theirs), 3),
    }


def _copied(one: Signature, other: Signature) -> dict[str, float | str | None]:
    alike = likeness(one, other)
    return {"lead": None if alike.lead is None else round(alike.lead, 3), "headline": round(alike.headlines, 3)}


def _of_all_terms(one: Subject, other: Subject) -> float:
    """The cosine of what both say."""
    shared = sum(says * says for term, says in one.terms.items() if term in other.terms)
    return shared / (one.size * other.size)


def _of_headlines(one: Subject, other: Subject) -> float:
    """Of what each headline says, the share that the other article says too: the geometric mean of both."""
    if not one.headline or not other.headline:
        return 0.0
    mine = sum(says for term, says in one.headline.items() if term in other.terms)
    theirs = sum(says for term, says in other.headline.items() if term in one.terms)
    return math.sqrt(mine / one.headline_says * theirs / other.headline_says)


def is_apart(one: Signature, other: Signature) -> bool:
    """Whether a rule keeps them apart, whatever they share."""
    mine, theirs = one.subject, other.subject
    if _is_other_issue(one, other):
        return True
    if _differ_in_numbers(one, other) or _is_template(mine, theirs) or _is_filled_in(mine, theirs):
        return True
    return _is_standing_text(one, other)


def _is_no_event(one: Subject, other: Subject) -> bool:
    """Whether one of them is a digest of several events, or they share usual words of headlines only."""
    return (
        one.is_digest or other.is_digest or len((one.terms.keys() & other.terms.keys()) - TELLS_LITTLE) < FEWEST_TELLING
    )


def _is_other_market(one: Signature, other: Signature) -> bool:
    mine, theirs = one.subject, other.subject
    if not (mine.is_market_report and theirs.is_market_report):
        return False
    return abs(one.minute - other.minute) > MARKET_HOURS * 60 or mine.directions != theirs.directions


def _is_standing_text(one: Signature, other: Signature) -> bool:
    """Whether one lead stands under two headlines, which share little besides usual words and dates, and is about none
    of them, such as a notice about cookies or a menu; or, of one publisher, about one of them only."""
    _, share = shared_lead(one, other)
    if share is None or share < OWN_LEAD:
        return False
    own = one.publisher == other.publisher
    mine, theirs = (_told_by(each.subject) for each in (one, other))
    if own and not mine & theirs and not one.subject.headline.keys().isdisjoint(other.subject.headline):
        return True
    if 2 * len(mine & theirs) > min(len(mine), len(theirs)):
        return False
    said = _share_in_lead(one, other), _share_in_lead(other, one)
    return min(said) < SAID_IN_LEAD if own else max(said) < SAID_IN_LEAD


def _told_by(subject: Subject) -> set[str]:
    """The terms of its headline, without usual ones, dates and numbers."""
    return {each for each in subject.headline if not (each in TELLS_LITTLE or each in _DATES or each.isdecimal())}


def _share_in_lead(one: Signature, other: Signature) -> float:
    """Of the words that only its own headline has, the share that its lead has too; 1 without such words."""
    own = [word for word in one.word_set - other.word_set if word not in FUNCTION_WORDS]
    return sum(word_id(word) in one.lead_set for word in own) / len(own) if own else 1.0


def _is_other_issue(one: Signature, other: Signature) -> bool:
    """Whether the headlines name other versions, quarters, months or parts, or other numbers after the same word."""
    if has_other_mark(one, other, "quarter", "month", "part"):
        return True
    numbered = other.subject.numbered
    return any(numbered.get(word, numbers).isdisjoint(numbers) for word, numbers in one.subject.numbered.items())


def _differ_in_numbers(one: Signature, other: Signature) -> bool:
    """Whether the headlines have the same words, and each a number that the other lacks: "6 seats", "29 seats"."""
    return has_other_mark(one, other, "number") and _besides_numbers(one.subject) == _besides_numbers(other.subject)


def _besides_numbers(subject: Subject) -> set[str]:
    return {term for term in subject.headline if not term[0].isdigit()}


def _is_template(mine: Subject, theirs: Subject) -> bool:
    """Whether the headlines are alike, and each has a name that the other article lacks."""
    both, every = mine.headline.keys() & theirs.headline.keys(), mine.headline.keys() | theirs.headline.keys()
    is_alike = len(both) >= TEMPLATE * len(every)
    return is_alike and _lacks_a_name(mine, theirs) and _lacks_a_name(theirs, mine)


def _is_filled_in(one: Subject, other: Subject) -> bool:
    """Whether the headlines are one sentence with other words in at least two places: "Alder city council approves
    bridge", "Birch city council approves tram". Places and things are often usual words: no name shows that they
    differ. A name or a number in both headlines shows that they do not."""
    shared = [term for term in one.headline if term in other.headline]
    if len(shared) < FRAME * max(len(one.headline), len(other.headline)):
        return False
    if shared != [term for term in other.headline if term in one.headline]:
        return False
    named = one.names & other.names
    if any(term[0].isdigit() or (term in named and weight(term) >= FILLING) for term in shared):
        return False
    places = zip(_fillings(one, other), _fillings(other, one), strict=True)
    return sum(mine and theirs for mine, theirs in places) >= FEWEST_FILLED


def _fillings(one: Subject, other: Subject) -> list[bool]:
    """For each place between the terms that both headlines have: whether this one says something there that the other
    article lacks."""
    found = [False]
    for term, says in one.headline.items():
        if term in other.headline:
            found.append(False)
        elif says >= FILLING and term not in other.terms:
            found[-1] = True
    return found


def _lacks_a_name(one: Subject, other: Subject) -> bool:
    """Whether one lacks a name of the other's headline. In a script without spaces, any term may be of a name."""
    return any(term not in one.terms and (term in other.names or is_unspaced(term)) for term in other.headline)
