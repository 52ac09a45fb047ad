"""The rules of version 0.1 for ambiguous names, to compare with: case, a context word within 200 characters, a version
number behind the name, a capital within a sentence. Not used by the app."""

from __future__ import annotations

import re

from models.tool import normalize_name
from services.tools.ambiguity import is_near
from services.tools.matching import NormalizedText, Phrase, normalize

_CAPITALISED = """
affirm alphabet amazon apple asana atlas atom basecamp bear bolt brave buffer cassandra circle clay coda confluence
consul copilot cursor dash delta discord eclipse elastic elixir eureka excel exchange fabric firefly flutter ford gatsby
gemini ghost intercom julia jupiter lambda lever linear lotus lucid mercury meta mocha monday nomad notion oracle
outlook palm paint polygon prisma prometheus pulsar ramp raven robin ruby sage safari scala selenium sentry shell sigma
sketch slack slate snap snowflake square stripe surface target tableau teams terraform tether tornado tower uber unity
unreal vault visa wave windows wish zoom
"""
CAPITALISED = frozenset(_CAPITALISED.split())

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


def detects(name: str, text: str) -> bool:
    article = normalize(text)
    return any(_is_meant(name, article, *span) for span in Phrase.of(normalize_name(name)).occurrences(article.text))


def _is_meant(name: str, article: NormalizedText, start: int, end: int) -> bool:
    plain = normalize_name(name)
    needs_context = len(plain) == 1 or plain in IN_CONTEXT
    first, last = article.original_span(start, end)
    is_strict = needs_context or len(plain) == 2 or plain in CAPITALISED
    if is_strict and article.original[first:last] != name:
        return False
    if not needs_context or _VERSION.match(article.original[last : last + 24]):
        return True
    before, after = article.original[max(0, first - 40) : first], article.original[last : last + 3]
    if len(plain) > 2 and _SENTENCE_GOES_ON.search(before) and not _CAPITAL_FOLLOWS.match(after):
        return True
    return is_near(CONTEXT, article.text, start, end)
