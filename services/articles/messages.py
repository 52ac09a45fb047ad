"""The messages of the queue `analyze-articles`, written by services that make an analysis due, read by mentions."""

from __future__ import annotations

import json
from collections.abc import Sequence

from models.errors import InvalidInput

MOST_ARTICLES = 100
"""In one message."""


def article_messages(source_ids: Sequence[str], most: int = MOST_ARTICLES) -> list[str]:
    """The messages that ask for the analysis of these articles, at most `most` articles in each."""
    return [
        json.dumps({"source_ids": source_ids[start : start + most]}, separators=(",", ":"))
        for start in range(0, len(source_ids), most)
    ]


def source_ids_of(message: str) -> list[str]:
    """The articles that a message names, each once. Raises InvalidInput for what `article_messages` never writes."""
    try:
        ids = json.loads(message)["source_ids"]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("message", "must be a JSON object with source_ids") from error
    if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
        raise InvalidInput("message", "must have source_ids, a list of ids")
    return list(dict.fromkeys(ids))
