"""Checks what people enter for a correction. An error names the field and what is allowed. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from models.correction import VERDICTS, Subject, Verdict
from models.errors import InvalidInput
from services.feeds.form import is_feed_id
from services.tools.form import checked_name, require_visible

FIELDS = ("article", "source", "phrase", "verdict", "reason", "author")
UNDO_FIELDS = ("reason", "author")
STATES = ("active", "outdated", "undone")
LONGEST_ARTICLE_ID = 2000
"""Of an older id, which may have a URL."""
LONGEST_AUTHOR = 100
LONGEST_REASON = 1000

_SUBJECTS: Mapping[str, Subject] = {"article": "MENTION", "source": "SOURCE", "phrase": "PHRASE"}
_ONE_LINE = re.compile(r"[^\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")
_LINES = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]+")


@dataclass(frozen=True, slots=True)
class Signed:
    """Who asks for something, and why."""

    author: str
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class NewCorrection:
    """`named` is the article, the source or the phrase."""

    subject: Subject
    named: str
    verdict: Verdict
    signed: Signed


def new_correction(fields: Mapping[str, Any]) -> NewCorrection:
    """Raises InvalidInput."""
    given = [name for name in _SUBJECTS if fields.get(name) is not None]
    if len(given) != 1:
        raise InvalidInput("article", f"one of {', '.join(_SUBJECTS)} is needed, and no other of them")
    (name,) = given
    named = _CHECKS[name](fields[name])
    return NewCorrection(_SUBJECTS[name], named, _verdict(name, fields.get("verdict")), signed(fields))


def signed(fields: Mapping[str, Any]) -> Signed:
    """Raises InvalidInput."""
    author, reason = fields.get("author"), fields.get("reason")
    author = author.strip() if isinstance(author, str) else ""
    if not _ONE_LINE.fullmatch(author) or len(author) > LONGEST_AUTHOR:
        raise InvalidInput("author", f"is needed: the name of the person, 1 to {LONGEST_AUTHOR} characters in one line")
    require_visible(author, "author")
    if reason is None:
        return Signed(author)
    reason = reason.strip() if isinstance(reason, str) else ""
    if not _LINES.fullmatch(reason) or len(reason) > LONGEST_REASON:
        raise InvalidInput("reason", f"text of 1 to {LONGEST_REASON:,} characters")
    return Signed(author, reason)


def signed_with_reason(fields: Mapping[str, Any]) -> tuple[str, str]:
    """The author and the reason, which is needed. Raises InvalidInput."""
    by = signed(fields)
    if by.reason is None:
        raise InvalidInput("reason", f"is needed: text of 1 to {LONGEST_REASON:,} characters")
    return by.author, by.reason


def _verdict(name: str, value: Any) -> Verdict:
    """The one verdict on a source or a phrase need not be given."""
    allowed = VERDICTS[_SUBJECTS[name]]
    if value is None and len(allowed) == 1:
        return allowed[0]
    for each in allowed:
        if each == value:
            return each
    raise InvalidInput("verdict", f"must be one of {', '.join(allowed)} with {name}")


def _article(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_ARTICLE_ID:
        raise InvalidInput("article", "must be the id of an article, such as dedup:1d56…")
    return value.strip()


def _source(value: Any) -> str:
    if not is_feed_id(value):
        raise InvalidInput("source", "must be the id of a feed")
    return str(value)


def _phrase(value: Any) -> str:
    return checked_name(value, "phrase")


_CHECKS: Mapping[str, Callable[[Any], str]] = {"article": _article, "source": _source, "phrase": _phrase}
