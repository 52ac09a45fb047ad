"""The messages of `analyze-articles`."""

from __future__ import annotations

import json
from collections.abc import Sequence

from models.errors import InvalidInput

NEW_ARTICLES = "articles.new"
MOST_ARTICLES = 100
"""The most articles in one message."""


def article_messages(source_ids: Sequence[str], most: int = MOST_ARTICLES, feed_id: str | None = None) -> list[str]:
    """The messages that ask for the analysis of these articles, at most `most` articles in each: the specification's
    event of new articles. `feed_id` is the feed that brought them, None if they are announced again."""
    parts = [source_ids[start : start + most] for start in range(0, len(source_ids), most)]
    messages = [{"event": NEW_ARTICLES, "feed_id": feed_id, "article_ids": part, "count": len(part)} for part in parts]
    return [json.dumps(message, separators=(",", ":")) for message in messages]


def source_ids_of(message: str) -> list[str]:
    """The articles that a message names, each once. Messages of earlier versions call them `source_ids`. Raises
    InvalidInput for a text that `article_messages` never writes."""
    try:
        fields = json.loads(message)
        ids = fields["article_ids"] if "article_ids" in fields else fields["source_ids"]
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidInput("message", "must be a JSON object with article_ids") from error
    if not isinstance(ids, list) or not all(isinstance(each, str) and each for each in ids):
        raise InvalidInput("message", "must have article_ids, a list of ids")
    return list(dict.fromkeys(ids))
