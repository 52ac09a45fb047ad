"""Names for ids, and ids for names. A tool, feed, article, story or run may be given by what a person knows of it."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from toolpulse.client import Client, part
from toolpulse.failures import NOT_FOUND, WRONG_USAGE, Failure, Problem

_ARTICLE_ID = re.compile(r"[a-z0-9._-]+:\S+", re.IGNORECASE)
_RUN_ID = re.compile(r"[0-9a-f]{32}|[0-9a-f-]{36}")
_SHORTEST_PREFIX = 4
_LATEST = 500
_MAX_NAMED = 5

Row = Mapping[str, Any]
Known = Mapping[str, Row]
"""By id."""


class Names:
    """Asks the app once for each kind of names."""

    def __init__(self, client: Client) -> None:
        self._client = client

    @cached_property
    def tools(self) -> dict[str, dict[str, Any]]:
        return {each["tool_id"]: each for page in self._client.pages("tools", None) for each in page["items"]}

    @cached_property
    def feeds(self) -> dict[str, dict[str, Any]]:
        return {each["feed_id"]: each for page in self._client.pages("feeds", None) for each in page["items"]}

    # -- shown instead of ids

    def of_tool(self, tool_id: str | None) -> str:
        return str(self.tools[tool_id]["name"]) if tool_id in self.tools else tool_id or ""

    def of_feed(self, feed_id: str | None) -> str:
        return str(self.feeds[feed_id]["source_name"]) if feed_id in self.feeds else feed_id or ""

    def of_subject(self, subject: str | None) -> str:
        """That of a run, which is a feed, a tool or something else."""
        return self.of_tool(subject) if subject in self.tools else self.of_feed(subject)

    # -- accepted instead of ids

    def tool(self, given: str) -> str:
        """What stands for the tool in a path: its id."""
        return part(self.tool_id(given))

    def tool_id(self, given: str) -> str:
        if not given.strip():
            raise Failure("tool: must be an id, name or alias", WRONG_USAGE)
        return self._id("tool", given, lambda: self.tools, _tool_names)

    def feed(self, given: str) -> str:
        """The id of the feed with this id, name, title or URL."""
        return self._id("feed", given, lambda: self.feeds, _feed_names)

    def _id(self, what: str, given: str, listed: Callable[[], Known], names_of: Callable[[Row], list[str]]) -> str:
        """Raises Failure with the nearest name if there is none."""
        if "/" not in given:
            try:
                return str(self._client.get(f"{what}s/{part(given)}")[f"{what}_id"])
            except Problem as problem:
                if problem.status not in (400, 404):
                    raise
        known, wanted = listed(), " ".join(given.split()).casefold()
        found = [id_ for id_, each in known.items() if wanted in map(str.casefold, names_of(each))]
        if len(found) == 1:
            return found[0]
        if found:
            text = f"{given!r} is the name of several {what}s: {', '.join(found)}; give an id"
            raise Failure(text, WRONG_USAGE)
        names = [name for each in known.values() for name in names_of(each)]
        advice = f"see `toolpulse {what}s list`" if known else f"there are none yet, see `toolpulse {what}s add --help`"
        raise Failure(f"there is no {what} {given!r}{nearest(given, names) or f': {advice}'}", NOT_FOUND)

    def subject(self, given: str) -> str:
        """The id of the feed or tool with this name; anything else as it is, such as the id of an article."""
        for known, names_of in ((self.tools, _tool_names), (self.feeds, _feed_names)):
            for id_, each in known.items():
                if given.casefold() in map(str.casefold, names_of(each)):
                    return id_
        return given

    def article(self, given: str) -> str:
        """The id of the article, or of the only one whose headline or text has these words."""
        return self._by_words(given, "articles", "article", "source_id")

    def story(self, given: str) -> str:
        """The id of the story, or of the only one with an article whose headline has these words."""
        return self._by_words(given, "stories", "story", "event_id")

    def _by_words(self, given: str, path: str, what: str, id_field: str) -> str:
        if _ARTICLE_ID.fullmatch(given):
            return given
        found = self._client.get(path, text=given, limit=_MAX_NAMED)["items"]
        if not found:
            raise Failure(f"there is no {what} with the id or the words {given!r}", NOT_FOUND)
        if len(found) > 1:
            several = "".join(f"\n  {each[id_field]}  {each['headline']}" for each in found)
            raise Failure(f"{given!r} may be several of these; give an id:{several}", WRONG_USAGE)
        return str(found[0][id_field])

    def run(self, given: str) -> str:
        """The id of the run, of the latest one for `last`, or of the only recent one that begins so."""
        if _RUN_ID.fullmatch(given) and len(given) in (32, 36):
            return given
        latest = [each["run_id"] for each in self._client.get("runs", quiet=True, limit=_LATEST)["items"]]
        if given == "last" and latest:
            return str(latest[0])
        found = [each for each in latest if each.startswith(given)] if len(given) >= _SHORTEST_PREFIX else []
        if len(found) != 1:
            why = "several runs begin so" if found else "no recent run begins so"
            raise Failure(f"run {given!r}: {why}: see `toolpulse runs list --quiet`", NOT_FOUND)
        return str(found[0])


def _tool_names(tool: Row) -> list[str]:
    return [tool["tool_id"], tool["name"], *tool["aliases"]]


def _feed_names(feed: Row) -> list[str]:
    return [feed[name] for name in ("feed_id", "source_name", "title", "url") if feed.get(name)]


def nearest(wanted: str, known: Sequence[str]) -> str:
    """`; did you mean X?`, or nothing."""
    by_lower = {each.casefold(): each for each in known}
    found = difflib.get_close_matches(wanted.casefold(), list(by_lower), n=1, cutoff=0.5)
    return f"; did you mean {by_lower[found[0]]!r}?" if found else ""
