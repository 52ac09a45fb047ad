"""Checks what people enter for a correction of articles or stories. An error names the field. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from models.errors import InvalidInput
from models.grouping_correction import MOST_ARTICLES, Kind
from services.feeds.form import is_feed_id
from services.mentions.correction_form import LONGEST_ARTICLE_ID

SPLIT_FIELDS = ("source", "reason", "author")
PAIR_FIELDS = ("article", "as", "reason", "author")
STORY_SPLIT_FIELDS = ("articles", "reason", "author")
STORIES_FIELDS = ("story", "reason", "author")

LEVELS = ("near_duplicate", "story")
JOINING: Mapping[str, Kind] = {"near_duplicate": "NEAR_DUPLICATES", "story": "ONE_STORY"}
SEPARATING: Mapping[str, Kind] = {"near_duplicate": "NOT_NEAR_DUPLICATES", "story": "NOT_ONE_STORY"}

assert {*JOINING.values(), *SEPARATING.values()} < set(get_args(Kind))


def source(fields: Mapping[str, Any]) -> str:
    value = fields.get("source")
    if not is_feed_id(value):
        raise InvalidInput("source", "is needed: a source of the article, by its id")
    return str(value)


def article(fields: Mapping[str, Any]) -> str:
    return _article(fields.get("article"), "article")


def level(fields: Mapping[str, Any]) -> str:
    value = fields.get("as", LEVELS[0])
    if value not in LEVELS:
        raise InvalidInput("as", f"must be one of {', '.join(LEVELS)}")
    return str(value)


def articles(fields: Mapping[str, Any]) -> list[str]:
    value = fields.get("articles")
    if not isinstance(value, list) or not 1 <= len(value) <= MOST_ARTICLES:
        raise InvalidInput("articles", f"is needed: a list of 1 to {MOST_ARTICLES} articles of the story, by their ids")
    return list(dict.fromkeys(_article(each, "articles") for each in value))


def story(fields: Mapping[str, Any]) -> str:
    value = fields.get("story")
    if not isinstance(value, str) or not value.strip():
        raise InvalidInput("story", "is needed: the id of the other story")
    return value.strip()


def _article(value: Any, field: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST_ARTICLE_ID:
        raise InvalidInput(field, "must be the id of an article, such as dedup:1d56…")
    return value.strip()
