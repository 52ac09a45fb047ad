"""Whether two articles report one event, although they were written independently. Pure.

The ladder, from the top; the first rung that applies decides:

1. One of them is a digest of several events: no.
2. Their headlines name other issues of a series (versions, quarters, parts, dates, numbered products): no.
3. Both report how markets moved: only on the same day, in the same direction.
4. The headlines are alike, and the leads have nothing in common, or each headline has a name that the other article
   lacks; or they differ in their numbers only; or they are one sentence with other words in two places, and share
   neither name nor number: no, a template.
5. The leads are a publisher's standing text: no. Nor if one publisher has one lead under headlines that share usual
   words and dates only, or that are little alike while the lead is about one of them. The same if the articles share
   usual words of headlines only.
6. Else the terms decide that they share, each weighed by how much it says: in headline and lead together, those of a
   headline that the other article has at all, and those of both headlines that are no names. Much of it must be the
   same, more if they are of one publisher, or if time lies between them.

near_duplicates.py decides whether one article repeats another.
"""

from __future__ import annotations

import math

from services.parse.words import is_unspaced
from services.stories.lists import MONTHS, NUMBERS, SERIES_WORDS, WEEKDAYS
from services.stories.near_duplicates import OWN_LEAD, is_boilerplate, is_own, shared_lead
from services.stories.signature import Signature, word_id
from services.stories.subject import Subject
from services.stories.terms import terms_of, weight

NEAREST = 0.65
"""From this similarity on, an article may belong to the story of another one."""
OPENING = 0.5
"""From this similarity on, an article is similar enough to the opening article of a story."""

ALL_TERMS = 0.5
"""What it adds if all terms are the same."""
HEADLINES = 0.667
"""What it adds if each article has all terms of the other's headline."""
SHARED_WORD = 0.0125
"""What a term of both headlines that is no name adds for each unit that it says."""
SHARED_NUMBER = 0.03
OTHER_NUMBERS = 0.13
"""What it takes away if each headline has a number that the other article lacks."""
ONE_PUBLISHER = 0.08
"""What it takes away if both are of one publisher: it seldom reports an event twice; and as much again on another
day."""
NO_SHARED_NAME = 0.3
"""What it takes away if both headlines have names, and the articles share none of them."""
PER_HOUR = 0.0015
"""What each hour between the publications takes away."""

MARKET_HOURS = 12
TEMPLATE = 0.75
"""The share of equal terms in headlines of a template."""
TEMPLATE_TOPICS = (6, 2)
"""Of two articles with so many topics each, fewer common ones than this show a template."""
NAMED_TEMPLATE = 0.6
"""The same share, if each headline has a name that the other article lacks."""
FRAME = 0.4
"""The share of equal terms in headlines of which one sentence was filled in."""
FILLING = 3.5
"""What a term says at least that fills a place in such a sentence."""
FEWEST_FILLED = 2
LEAST_TELLING = 2.6
"""What a term says at least that tells what a headline alone says."""
FEWEST_TELLING = 2
"""Shared terms that are no usual words of headlines."""
OTHER_DAY_HOURS = 18
LIKE_HEADLINES = 0.38
"""The likeness of headlines of one publisher, from which equal leads count whatever they say."""
OF_ONE, OF_OTHER = 0.45, 0.33
"""A lead is about one headline if it has the first share of what this one alone says, and not about the other if it has
less than the second."""

_DATED = ("quarter:", "month:", "part:")
_TELLS_LITTLE = frozenset(terms_of(SERIES_WORDS))
_DATES = frozenset(terms_of((*MONTHS, *WEEKDAYS)))


def similarity(one: Signature, other: Signature) -> float:
    """How likely both report one event, 0 to 1. The same for both orders."""
    mine, theirs = one.subject, other.subject
    shared = mine.terms.keys() & theirs.terms.keys()
    if len(shared) < 2 or mine.headline.keys().isdisjoint(shared):
        return 0.0
    both = mine.headline.keys() & theirs.headline.keys()
    names = mine.names | theirs.names
    score = ALL_TERMS * _of_all_terms(mine, theirs) + HEADLINES * _of_headlines(mine, theirs)
    score += SHARED_WORD * sum(mine.headline[term] for term in both if term not in names)
    score += SHARED_NUMBER * sum(mine.terms[term] for term in shared if term[0].isdigit())
    if _lacks_a_number(mine, theirs) and _lacks_a_number(theirs, mine):
        score -= OTHER_NUMBERS
    if mine.names and theirs.names and names.isdisjoint(shared):
        score -= NO_SHARED_NAME
    hours = abs(one.minute - other.minute) / 60
    score -= PER_HOUR * hours
    if one.publisher and one.publisher == other.publisher:
        score -= ONE_PUBLISHER * (1 + (hours >= OTHER_DAY_HOURS))
    if score < OPENING:  # too little, whatever the rules say
        return max(score, 0.0)
    return 0.0 if is_apart(one, other) else min(score, 1.0)


def compared(one: Signature, other: Signature) -> dict[str, float | str | None]:
    """What a similarity follows from, for the merge ledger."""
    mine, theirs = one.subject, other.subject
    shared = sorted(mine.terms.keys() & theirs.terms.keys(), key=lambda term: (-mine.terms[term], term))
    return {
        "terms": " ".join(shared[:8]),
        "of_all_terms": round(_of_all_terms(mine, theirs), 3),
        "of_headlines": round(_of_headlines(mine, theirs), 3),
        "hours": round(abs(one.minute - other.minute) / 60, 1),
    }


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


def _lacks_a_number(one: Subject, other: Subject) -> bool:
    """Whether one lacks a number of the other's headline."""
    return any(term not in one.terms for term in other.numbers)


def is_apart(one: Signature, other: Signature) -> bool:
    """Whether a rule keeps them apart, whatever they share."""
    mine, theirs = one.subject, other.subject
    if mine.is_digest or theirs.is_digest or _is_other_issue(one, other):
        return True
    if len((mine.terms.keys() & theirs.terms.keys()) - _TELLS_LITTLE) < FEWEST_TELLING:
        return True
    if mine.is_market_report and theirs.is_market_report:
        return abs(one.minute - other.minute) > MARKET_HOURS * 60 or mine.directions != theirs.directions
    if _differ_in_numbers(one, other) or _is_template(one, other) or _is_filled_in(mine, theirs):
        return True
    return is_boilerplate(one, other) or (is_own(one, other) and _is_lead_of_one(one, other))


def _is_lead_of_one(one: Signature, other: Signature) -> bool:
    """Whether one lead stands under two headlines that share usual words and dates only ("Open thread"), or that are
    little alike while the lead is about one of them: who lists articles of others may show one text for all."""
    _, share = shared_lead(one, other)
    if share is None or share < OWN_LEAD:
        return False
    both = one.subject.headline.keys() & other.subject.headline.keys()
    if both and all(term in _TELLS_LITTLE or term in _DATES or term.isdecimal() for term in both):
        return True
    if _of_both_headlines(one.subject, other.subject) >= LIKE_HEADLINES:
        return False
    less, more = sorted((_in_own_lead(one, other), _in_own_lead(other, one)))
    return more >= OF_ONE and less < OF_OTHER


def _of_both_headlines(one: Subject, other: Subject) -> float:
    """The cosine of what the headlines say."""
    shared = sum(says * says for term, says in one.headline.items() if term in other.headline)
    sizes = (sum(says * says for says in each.headline.values()) for each in (one, other))
    return shared / math.sqrt(math.prod(sizes)) if shared else 0.0


def _in_own_lead(one: Signature, other: Signature) -> float:
    """Of what only its headline says, the share that its lead says too; 1 if it says nothing of its own."""
    own = {word: says for word in one.word_set for term in terms_of((word,)) if (says := _own_weight(term, other)) > 0}
    found = sum(says for word, says in own.items() if word_id(word) in one.lead_set)
    return found / sum(own.values()) if own else 1.0


def _own_weight(term: str, other: Signature) -> float:
    says = weight(term)
    return says if says >= LEAST_TELLING and term not in other.subject.headline else 0.0


def _is_other_issue(one: Signature, other: Signature) -> bool:
    """Whether the headlines name other versions, quarters, months or parts, or other numbers after the same word."""
    for kind in _DATED:
        mine = {mark for mark in one.marks if mark.startswith(kind)}
        theirs = {mark for mark in other.marks if mark.startswith(kind)}
        if (mine - theirs and theirs - mine) or (kind == "part:" and mine != theirs):
            return True
    numbered = other.subject.numbered
    return any(numbered.get(word, numbers).isdisjoint(numbers) for word, numbers in one.subject.numbered.items())


def _differ_in_numbers(one: Signature, other: Signature) -> bool:
    """Whether the headlines have the same words, and each a number that the other lacks: "6 seats", "29 seats"."""
    if _besides_numbers(one.subject) != _besides_numbers(other.subject):
        return False
    mine, theirs = ({mark for mark in each.marks if mark.startswith("number:")} for each in (one, other))
    return bool(mine - theirs and theirs - mine)


def _besides_numbers(subject: Subject) -> set[str]:
    return {term for term in subject.headline if not term[0].isdigit() and term not in NUMBERS}


def _is_template(one: Signature, other: Signature) -> bool:
    """Whether the headlines are alike, and the articles are about other things: the leads have little in common, or
    each headline has a name that the other article lacks."""
    mine, theirs = one.subject, other.subject
    both, every = mine.headline.keys() & theirs.headline.keys(), mine.headline.keys() | theirs.headline.keys()
    if len(both) >= NAMED_TEMPLATE * len(every) and _lacks_a_name(mine, theirs) and _lacks_a_name(theirs, mine):
        return True
    if len(both) < TEMPLATE * len(every):
        return False
    fewest, common = TEMPLATE_TOPICS
    topics = set(one.topics), set(other.topics)
    return min(map(len, topics)) >= fewest and len(topics[0] & topics[1]) < common


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
