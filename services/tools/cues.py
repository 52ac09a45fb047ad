"""The evidence for and against a name at one place of a text: words and signs beside it. Pure.

`Surroundings` are the place: the words of the sentence, and what their case says. A cue has a name, such as
`thing after` ("the Go team") or `determiner before` ("a square"). ambiguity.py weighs them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from services.tools.lexicon import CUES, KNOWN, Group, Sense
from services.tools.matching import UNSPACED, NormalizedText, has_unspaced

# The place.

BESIDE = 100
"""How many characters before and after a name belong to its sentence at most."""
MAX_CAPITALISED = 0.7
"""From this share of capitalised words, a text is in headline case, and a capital says little."""

MIN_FOREIGN = 2
"""From this number of small words of another language, a sentence is not English."""

_FOREIGN = CUES["another language"]
_TOKEN = re.compile(
    rf"(?:Mr|Mrs|Ms|Dr|St|Sen|Rep|Gov|vs|Inc|Prof)\.|\d[\w.,%]*|[^\W\d_{UNSPACED}](?:[\w'\u2019+#]|[.\-](?=\w))*"
    rf"|`|[^\w\s]|[{UNSPACED}]"
)
_ABBREVIATED = "".join(rf"(?<!\b{each})" for each in ("Mr", "Ms", "Mrs", "Dr", "St", "vs", r"U\.S", "Sen", "Rep"))
_SENTENCE_END = re.compile(rf"{_ABBREVIATED}[.!?]['\"\u201d\u2019)]*\s+(?=[\"\u201c\u2018'(]?[A-Z0-9`])|\x00|\n")
_BEFORE_SENTENCE = frozenset('.!?:-|"([;`\u2013\u2014\u2018\u201c\u2022\u00bb')
_POSSESSIVE = ("'s", "\u2019s")


@dataclass(frozen=True, slots=True)
class Surroundings:
    """An occurrence of `name`, as `written`. `left` and `right` are the text beside it within its sentence, `before`
    and `after` the words and signs in them, the nearest first."""

    name: str
    written: str
    left: str
    right: str
    before: tuple[str, ...]
    after: tuple[str, ...]
    is_headline_case: bool
    is_foreign: bool
    is_all_capitals: bool

    @classmethod
    def of(cls, name: str, text: str, start: int, end: int) -> Surroundings:
        left, right = text[max(0, start - BESIDE) : start], text[end : end + BESIDE]
        for sentence_end in _SENTENCE_END.finditer(left):
            begins = sentence_end.end()
            left = " " * begins + left[begins:]
        over = _SENTENCE_END.search(right)
        right = right[: over.start() + 1] if over else right
        before = _TOKEN.findall(left)
        after = _TOKEN.findall(right[2:] if right.startswith(_POSSESSIVE) else right)
        # The first word of the sentence has a capital anyway.
        words = [word for word in (*before[1:], *after) if len(word) > 3 and word[0].isalpha()]
        capitalised = sum(word[0].isupper() for word in words)
        is_foreign = sum(word.lower() in _FOREIGN for word in (*before, *after)) >= MIN_FOREIGN
        longer = [word for word in (*before, *after) if len(word) > 2 and word[0].isalpha()]
        upper = sum(word.isupper() for word in longer)
        return cls(
            name,
            text[start:end],
            left,
            right,
            tuple(reversed(before)),
            tuple(after),
            # German capitalises all nouns; between Chinese characters, each Latin word is a name.
            is_headline_case=capitalised >= 1
            and capitalised >= MAX_CAPITALISED * len(words)
            and not is_foreign
            and not has_unspaced(left + right),
            is_foreign=is_foreign,
            is_all_capitals=upper >= 1 and upper >= MAX_CAPITALISED * len(longer),
        )

    @property
    def is_lower(self) -> bool:
        return self.written.islower()

    @property
    def is_possessive(self) -> bool:
        return self.right.startswith(_POSSESSIVE)

    @property
    def begins(self) -> bool:
        """Whether it begins a sentence, so that a capital says nothing."""
        return not self.before or self.before[0] in _BEFORE_SENTENCE

    @property
    def is_plain_capital(self) -> bool:
        """Whether its capital is that of a name: within a sentence whose other words are in lower case."""
        return not (self.is_lower or self.begins or self.is_headline_case or self.is_all_capitals)

    def previous(self, n: int = 0) -> str:
        """The word before it in lower case; with `n`, a word further away."""
        return _plain(self.before, n)

    def next(self, n: int = 0) -> str:
        return _plain(self.after, n)


def _plain(words: tuple[str, ...], n: int) -> str:
    return words[n].lower().replace("\u2019", "'") if n < len(words) else ""


# The cues.

NEAR = 200
"""How many characters before and after a name are searched for words of its topic."""

_VERSION = re.compile(r"(?:\s+v?|[-/]v?|v)\d+(?:\.\d+)*(?:\.x|[a-z]\d*)?(?![\w%])(?!\s*(?:percent|%))")
_YEAR = re.compile(r"\s+(?:19|20)\d\d(?![\w.])")
_HEADS = re.compile(r"(?: [-\u2013\u2014]|:) ")
_COUNTED = re.compile(r"\s+\d+ ([a-z]+)")
_AGE = re.compile(r", (?:aged? )?\d{1,2},")
_TOPIC_WORD = re.compile(r"[^\W_][\w+#.\-]*[\w+#]|[^\W_]")
_APOSTROPHE = "\u2019"
_ENDS_UNSPACED = re.compile(rf"[{UNSPACED}] ?$")
_BEGINS_UNSPACED = re.compile(rf" ?[{UNSPACED}]")
_LIST_SIGNS = {",", "/", "&", "and", "or", "vs", "vs.", "versus", "+", "with", "to"}
_AND = ("and", "or", ",")
_PERSON = {"she", "her", "hers", "he", "his", "him", "mother", "father", "daughter", "son", "sister", "brother"}
_HYPHENATED = CUES["thing"] | {"like", "based", "compatible", "only", "style", "backed", "owned", "inspired", "made"}
_FLAG = re.compile(r"--?[a-z]")
_RUN = {"run", "running", "ran", "type", "typing", "typed", "try", "use", "using", "execute", "then", "first", "after"}
_PROGRAMS = ("-cli", "-playbook", "-topics")
_DETERMINERS = CUES["determiner"] | {"the"}
_EXPLAINED = _DETERMINERS.union(
    *(CUES[cue] for cue in ("use", "use verb", "verb before", "quality", "owner", "grammar", "question"))
)
_GROUPS: Final[dict[Group, str]] = {
    "seldom": "seldom a word",
    "capital": "a word in lower case",
    "word": "often a word",
    "letter": "a letter",
}


def cues(sense: Sense, name: str, article: NormalizedText, start: int, end: int) -> tuple[str, ...]:
    """The cues at one occurrence of the name. The span is in the normalized text."""
    place = Surroundings.of(name, article.original, *article.original_span(start, end))
    found = [_written(sense, place)]
    if place.is_foreign:
        found.append(f"sentence in another language{', lower case' if place.is_lower else ''}")
    found += _after(sense, place)
    found += _before(sense, place)
    found += _in_list(place)
    found += _as_code(sense, place)
    found += _of_person_or_place(sense, place)
    found += _about(sense, place, article.text, start, end)
    return tuple(dict.fromkeys(found))


def _written(sense: Sense, place: Surroundings) -> str:
    """The case of the name, and what it is worth where it stands."""
    if place.is_lower:
        case = "in lower case"
    elif place.is_all_capitals:
        case = "in a text in capitals"
    elif len(place.written) > 1 and place.written.isupper() and not place.name.isupper():
        case = "in capitals"
    elif place.begins:
        case = "begins the sentence"
    elif place.is_headline_case:
        case = "in headline case"
    else:
        case = "capital within the sentence"
    return f"{_GROUPS[sense.group]}: {case}"


def _after(sense: Sense, place: Surroundings) -> Iterator[str]:
    right, lower = place.right, ", lower case" if place.is_lower else ""
    if place.is_possessive:
        yield f"possessive{lower}"
    elif right[:1] in "-\u2013" and right[1:2].isalpha():
        yield "thing after" if place.next(1) in _HYPHENATED else "hyphen after"
    elif sense.group == "letter" and right.startswith(".") and _follows_name(place):
        yield "initial of a name"
    elif _YEAR.match(right):
        yield "year after"
    elif _VERSION.match(right):
        yield "count after" if _is_count(right) else "version after"
    elif place.begins and _HEADS.match(right):
        yield f"heads the text{', often a word' if sense.group == 'word' else ''}{lower}"
    elif not place.after or not place.next()[0].isalnum():
        yield f"ends a clause{lower}"
    else:
        yield _word_after(sense, place, lower)


def _is_for_name(place: Surroundings) -> bool:
    """Whether "for", "on" or "in" and another name follow: "Outlook for iOS"."""
    return place.next() in ("for", "on", "in") and any(_is_name(place, word) for word in place.after[1:2])


def _follows_name(place: Surroundings) -> bool:
    if place.begins:
        return bool(place.after) and place.right == "."
    return place.before[0][0].isupper() and place.previous() not in _EXPLAINED


def _word_after(sense: Sense, place: Surroundings, lower: str) -> str:
    following, begins = place.next(), ", begins" if place.begins else ""
    if following in CUES["thing"]:
        return f"thing after{lower}{_shaky(sense, place)}"
    if not place.is_lower and following in CUES["does"]:
        return f"does after{_shaky(sense, place)}"
    if not place.is_lower and place.after[0].islower() and following.endswith("ed"):
        return f"past tense after{_shaky(sense, place)}"
    if _is_for_name(place):
        return f"for, on or in another name{lower}"
    is_word = place.after[0].islower() or place.is_headline_case or place.is_all_capitals
    if is_word and following in CUES["grammar"]:
        is_plan = not place.is_lower and following == "to" and place.next(1) in CUES["to do"]
        return "to do after" if is_plan else f"grammar after{begins}{lower}"
    return _capital_after(sense, place) if place.after[0][0].isupper() else f"other word after{begins}{lower}"


def _capital_after(sense: Sense, place: Surroundings) -> str:
    in_headline = place.is_headline_case or place.is_all_capitals
    who = "surname" if sense.is_given_name and not place.is_all_capitals else "capital"
    return f"{who} after{', headline' if in_headline else ''}"


def _shaky(sense: Sense, place: Surroundings) -> str:
    often = ", often a word" if sense.group == "word" and not place.is_lower else ""
    return often + (", headline" if place.is_headline_case and not place.is_lower else "")


def _is_count(right: str) -> bool:
    """Whether the number after the name counts something: "Go 3 rounds", and not "Go 3 gets"."""
    counted = _COUNTED.match(right)
    return counted is not None and counted[1] in CUES["counted"]


def _before(sense: Sense, place: Surroundings) -> Iterator[str]:
    if place.left[-1:] == "-":
        yield "hyphen before"
        return
    previous, second = place.previous(), place.previous(1)
    if not previous or place.begins:
        return
    lower = ", lower case" if place.is_lower else ""
    is_made = second in CUES["tool verb"]
    if previous == "of" and second in CUES["subject"]:
        yield f"subject of a text{lower}"
    if _is_move(place):
        yield f"from one to the other{lower}"
    elif previous in CUES["use"] or (previous == "to" and is_made):
        yield f"made or run {'' if is_made else 'maybe '}with it{lower}"
    if previous in CUES["use verb"]:
        yield f"used, bought or compared{lower}"
    elif previous in CUES["verb before"]:
        yield f"verb before{lower}"
    if _is_object(place):
        yield f"somebody does it{lower}{', headline' if place.is_headline_case else ''}"
    if previous in _DETERMINERS:
        yield f"determiner before{' and thing after' if place.next() in CUES['thing'] else ''}{lower}"
    if previous.removesuffix("'s") in CUES["owner"]:
        yield f"owner before{lower}"
    elif previous.endswith("'s") and place.before[0][0].isupper():
        yield f"somebody's{lower}"
    elif previous in CUES["quality"]:
        yield f"quality before{lower}"
    yield from _name_before(sense, place)


def _is_object(place: Surroundings) -> bool:
    """Whether a name and a verb stand before it: "Adobe kills Flash", "shuts down Mint"."""
    if place.previous() == "down":
        return place.previous(1) in ("shuts", "shut", "shutting")
    return place.previous() in CUES["does"] and len(place.before) > 1 and place.before[1][0].isupper()


def _is_move(place: Surroundings) -> bool:
    """Whether the name is where somebody moves from or to: "from Express to Next"."""
    if place.previous() == "to":
        return any(word.lower() == "from" for word in place.before[1:4])
    return place.previous() == "from" and "to" in place.after[:3]


def _name_before(sense: Sense, place: Surroundings) -> Iterator[str]:
    """A word before the name that makes a longer name of both."""
    previous = place.previous()
    is_known = previous in _EXPLAINED
    if place.is_lower:
        if not is_known and previous[0].isalnum():
            yield "other word before, lower case"
    elif previous in CUES["title"]:
        yield "title before"
    elif previous in CUES["given name"] and place.before[0][0].isupper():
        yield "first name before" if sense.is_surname else "maybe a first name before"
    elif place.before[0].isalpha() and place.before[0][0].isupper() and not is_known and _is_telling(place):
        yield "capital before"


def _is_telling(place: Surroundings) -> bool:
    """Whether the capital of the word before the name is that of a name: in an English sentence, neither in a headline
    nor as its first word, unless there is no other word."""
    is_english = not place.is_foreign and not has_unspaced(place.left)
    return is_english and not place.is_headline_case and (len(place.before) > 1 or not place.after)


def _in_list(place: Surroundings) -> Iterator[str]:
    """Another name before or after it, in a list or a comparison."""
    lower = ", lower case" if place.is_lower else ""
    if _has_name(place, place.after):
        yield f"name after it in a list{lower}"
    if _has_name(place, place.before):
        yield f"name before it in a list{lower}"


def _has_name(place: Surroundings, words: tuple[str, ...]) -> bool:
    """Whether one of the next two items of a list is a name. Signs of a list may stand together: ", and"."""
    items, is_after_sign = 0, False
    for word in words[:6]:
        if word.lower() in _LIST_SIGNS:
            is_after_sign = True
        elif not is_after_sign or items == 2:
            return False
        elif _is_name(place, word):
            return True
        else:
            items, is_after_sign = items + 1, False
    return False


def _is_name(place: Surroundings, word: str) -> bool:
    plain = word.lower().replace(_APOSTROPHE, "'").removesuffix("'s")
    return plain in KNOWN and (not word.islower() or place.is_lower)


def _as_code(sense: Sense, place: Surroundings) -> Iterator[str]:
    if place.left.count("`") % 2 and "`" in place.right:
        yield "in code"
    if place.is_lower and not (sense.group == "word" and place.previous() in CUES["verb before"]):
        following = place.right.strip().split(" ")[0].strip("`.,;:")
        is_flag = place.right.startswith(" ") and _FLAG.match(following) is not None
        if is_flag or following in sense.commands or place.right.startswith(_PROGRAMS):
            yield "command"
            if place.previous() in _RUN:
                yield "command that is run"


def _of_person_or_place(sense: Sense, place: Surroundings) -> Iterator[str]:
    if place.is_lower:
        return
    if sense.is_given_name:
        yield from _of_person(place)
    if place.next() == "," and place.next(1) in CUES["region"]:
        yield "region after"
    elif place.next() in CUES["place"] or place.previous() in CUES["place"]:
        yield "place beside"
    after = place.next() in _AND and place.next(1) in CUES["region"]
    if after or (place.previous() in _AND and place.previous(1) in CUES["region"]):
        yield "region beside"
    if place.written in CUES["another acronym"] and not place.is_all_capitals:
        yield "another acronym"


def _of_person(place: Surroundings) -> Iterator[str]:
    if _PERSON.intersection(word.lower() for word in (*place.before[:8], *place.after[:8])):
        yield "person near"
    if any(_is_given_name(word) for word in (*place.before[1:2], *place.after[1:2])):
        yield "first name beside"
    if _AGE.match(place.right):
        yield "age after"


def _is_given_name(word: str) -> bool:
    return word[0].isupper() and word.lower() in CUES["given name"] and word.lower() not in KNOWN


def _about(sense: Sense, place: Surroundings, text: str, start: int, end: int) -> Iterator[str]:
    """What the text near the name is about."""
    left, right = text[max(0, start - NEAR) : start], text[end : end + NEAR]
    if _ENDS_UNSPACED.search(left[-2:]) or _BEGINS_UNSPACED.match(right):
        yield "beside another script"
    first = max(0, start - NEAR)
    last = min(len(text), end + NEAR)
    window = text[first:last].replace(_APOSTROPHE, "'"), start - first, end - first
    if sense.own_phrases is not None and not place.is_lower and _phrases_at(sense.own_phrases, *window):
        yield "phrase of its own"
    elif sense.other_phrases is not None and _has_other_meaning(sense.other_phrases, place, *window):
        yield f"phrase of another meaning{', capital within the sentence' if place.is_plain_capital else ''}"
    if sense.other_topics is not None and sense.other_topics.search(text, first, last):
        yield "another meaning near"
    words = {*_TOPIC_WORD.findall(left), *_TOPIC_WORD.findall(right)}
    topic = "language topic" if sense.is_language else "product topic"
    count = len(words & CUES[topic])
    if count:
        yield f"{topic} near{', more than once' if count > 1 else ''}"
    if not sense.is_language and words & CUES["money"]:
        yield "money near"


def _phrases_at(phrases: re.Pattern[str], text: str, start: int, end: int) -> list[re.Match[str]]:
    """The phrases that contain the name."""
    return [hit for hit in phrases.finditer(text) if hit.start() <= start and end <= hit.end()]


def _has_other_meaning(phrases: re.Pattern[str], place: Surroundings, text: str, start: int, end: int) -> bool:
    """Whether the name is in one of the phrases, and nothing beside it says that it is a name all the same."""
    hits = _phrases_at(phrases, text, start, end)
    return any(place.is_lower or not _is_name_all_the_same(hit, place, start, end) for hit in hits)


def _is_name_all_the_same(phrase: re.Match[str], place: Surroundings, start: int, end: int) -> bool:
    """Of a capitalised name: "the Edge browser", "in Unity 6", "from React to web components"."""
    if phrase.end() == end:
        if _VERSION.match(place.right):
            return True
        before = phrase[0][: start - phrase.start()].strip()
        return (before in _DETERMINERS and place.next() in CUES["thing"]) or (
            before == "to" and place.previous(1) in CUES["tool verb"]
        )
    if phrase.start() == start and _is_for_name(place):
        return True
    goes_on = phrase.start() == start and place.next() in CUES["grammar"]
    is_chosen = place.previous() == "to" or place.previous() in CUES["use"] | CUES["use verb"]
    return goes_on and (is_chosen or _is_object(place))
