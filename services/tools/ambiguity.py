"""When a name that is also a common English word counts as the tool, if the tool has no rule for the name.

The word lists are a guess: a rule in the tool's `name_rules` replaces them for one name.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass

from models.tool import NameRule, normalize_name

NEAR = 200
"""How many characters before and after a name are searched for a context word."""

_CAPITALISED = """
affirm alphabet amazon apple asana atlas atom basecamp bear bolt brave buffer cassandra circle clay coda confluence
consul copilot cursor dash delta discord eclipse elastic elixir eureka excel exchange fabric firefly flutter ford gatsby
gemini ghost intercom julia jupiter lambda lever linear lotus lucid mercury meta mocha monday nomad notion oracle
outlook palm paint polygon prisma prometheus pulsar ramp raven robin ruby sage safari scala selenium sentry shell sigma
sketch slack slate snap snowflake square stripe surface target tableau teams terraform tether tornado tower uber unity
unreal vault visa wave windows wish zoom
"""
CAPITALISED = frozenset(_CAPITALISED.split())
"""Names that are rarely the common word if they are capitalised."""

_IN_CONTEXT = """
access act ada air an and ant arc are as ask at backbone basic bash bat be beam bottle box brew brick bun chef click
close cobalt comet cool core crystal dart data deep dog do drill edge elm ember express falcon fast fish flask flow for
forge fresh front gap gin go grok grunt gulp halo handlebars hack hi hive home hood hub ideal if in insight is it jade
key keen kite less light like link loop lit make max me mesh meteor mint moment my native nest next night nim no node
now of on one open or pages phoenix photos pig ping play plot podium point polar pony power puppet pure quick ray react
reason remix rocket rook root ruff rust salt sass scratch sequel shiny signal slim so solid spark spring stack stone
storm sun swift switch tap the thrift time to torch unison up us vim void we web why wing wink word words work
yarn you zip
"""
IN_CONTEXT = frozenset(_IN_CONTEXT.split())
"""Names that are often the common word even if capitalised: at the start of a sentence, in headlines, in other
names."""

CONTEXT = (
    "programming", "programmer", "programmers", "language", "languages", "compiler", "compilers", "compiles",
    "library", "libraries", "framework", "frameworks", "developer", "developers", "coding", "codebase", "code",
    "software", "api", "apis", "sdk", "runtime", "runtimes", "package manager", "open source", "open-source", "github",
    "gitlab", "repository", "repositories", "backend", "frontend", "database", "databases", "ide", "crate", "crates",
    "cargo", "goroutine", "goroutines", "async", "microservice", "microservices", "scripting", "engineers",
    "memory safe", "memory-safe", "memory safety", "borrow checker", "garbage collector", "garbage collection",
    "type system", "generics", "toolchain", "linter", "kernel", "wasm", "webassembly", "docker", "kubernetes", "linux",
    "python", "java", "javascript", "typescript", "c++", "c#", "golang", "kotlin", "statistical", "data science",
    "dataframe", "dataframes", "rstudio", "tidyverse", "cran", "changelog", "release notes", "version", "versions",
    "plugin", "plugins", "npm", "pypi", "stack overflow", "devops", "cloud", "cve", "vulnerability", "syntax",
    "standard library", "stdlib", "orm", "sql", "static typing", "rewrite", "rewritten", "rewrote",
)  # fmt: skip

_RELEASED = "is out|is here|released?|alpha|beta|rc|preview|brings|ships|lands|adds|arrives|drops|gets|supports?"
_VERSION = re.compile(rf"\s+v?(?:\d+\.\d+|\d{{1,3}}(?=\s+(?:{_RELEASED})\b))")
_SENTENCE_GOES_ON = re.compile(r"(?:^|[\s(])[a-z][\w'-]*[,;:]?\s$")
_CAPITAL_FOLLOWS = re.compile(r"\s+[A-Z]")


@dataclass(frozen=True, slots=True)
class MatchRule:
    """When an occurrence of a name counts. With `case_sensitive`, it must have the case of the name. With `context`, it
    also needs one of:

    a context word nearby; a version number after the name, if `version_suffices`; a capital letter within a sentence,
    if `proper_noun_suffices`.
    """

    case_sensitive: bool = False
    context: tuple[str, ...] = ()
    proper_noun_suffices: bool = False
    version_suffices: bool = False


def match_rule(name: str, rule: NameRule | None, own_words: tuple[str, ...]) -> MatchRule:
    """The rule of a name. `own_words` are the tool's other names and keywords, which are context for an ambiguous
    name."""
    if rule is not None:
        return MatchRule(rule.case_sensitive, rule.context)
    plain = normalize_name(name)
    if not plain.isalnum() or not plain.isascii() or plain.isdigit():
        return MatchRule()
    is_lower = name == plain
    if len(plain) == 1 or plain in IN_CONTEXT:
        proper_noun_suffices = len(plain) > 2 and not is_lower
        return MatchRule(not is_lower, (*CONTEXT, *own_words), proper_noun_suffices, version_suffices=True)
    return MatchRule(case_sensitive=not is_lower and (len(plain) == 2 or plain in CAPITALISED))


def is_proper_noun(original: str, start: int, end: int) -> bool:
    """Whether the name is capitalised within a sentence: a word in lower case before it, no capital right after it."""
    before, after = original[max(0, start - 40) : start], original[end : end + 3]
    return bool(_SENTENCE_GOES_ON.search(before)) and not _CAPITAL_FOLLOWS.match(after)


def has_version(original: str, end: int) -> bool:
    """Whether a version number follows the name directly."""
    return bool(_VERSION.match(original[end : end + 24]))


def is_near(context: tuple[str, ...], text: str, start: int, end: int) -> bool:
    """Whether normalized text has a context word near the name, outside of the name itself."""
    # Cut by `endpos` and not by slicing, so that the word at the left edge keeps its boundary.
    window = _any_of(context).finditer(text, max(0, start - NEAR), min(len(text), end + NEAR))
    return any(word.end() <= start or end <= word.start() for word in window)


@functools.lru_cache(maxsize=4096)
def _any_of(words: tuple[str, ...]) -> re.Pattern[str]:
    plain = sorted({normalize_name(word) for word in words}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(re.escape(word) for word in plain)})(?!\w)")
