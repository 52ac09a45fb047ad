"""The parts of paths that name something, each with what it names and an example."""

from __future__ import annotations

import re

from models.story import STORY_ID
from triggers.parameters import Parameter, in_path

PARTS: dict[str, Parameter[str | None]] = {
    each.name: each
    for each in (
        in_path("tool", "The id, the name or an alias of a tool. A name with a slash needs the id.", "Python"),
        in_path("feed_id", "The id of a feed.", "python-insider"),
        in_path("article_id", "The id of an article, its `source_id`.", "dedup:0f8fad5bd9cb469fa16570867728950e"),
        in_path(
            "event_id",
            "The id of a story, as articles have it.",
            "story:20260221:1d56e8afa3f147b09d0c5f2b8f1a6e11",
            pattern=STORY_ID,
        ),
        in_path("correction_id", "The id of a correction.", "20260221-1"),
        in_path("quarantine_id", "The id of an item in quarantine.", "batch-1"),
        in_path("run_id", "The id of a run.", "run-1"),
        in_path("host", "The name of a host, with its port if that is not the usual one.", "example.com"),
        in_path("name", "The name of a queue.", "analyze-articles"),
        in_path("day", "A UTC day.", "2026-02-21", format="date"),
    )
}


def parameters_of(route: str) -> tuple[Parameter[str | None], ...]:
    """The parameters in a path, in their order."""
    return tuple(PARTS[name] for name in re.findall(r"\{(\w+)\}", route))
