"""The JSON bodies of requests: their fields, as the contract describes them and as requests are read.

What a value must be beyond its type, the services check. The formats that are not of JSON Schema say what they allow:

    single-line     text in one line without control characters
    visible-text    the same, without invisible characters and without a combining mark at its beginning
    web-url         an http or https URL with a host, without user or password
    opml            an OPML document
    yaml-of-feeds   a YAML document with the list `feeds`; yaml-of-tools: with the list `tools`
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from models.article import LOWEST_PRIORITY
from models.correction import MENTION_VERDICTS
from models.feed import FullTextChoice
from models.grouping_correction import MOST_ARTICLES
from models.resources.base import Resource
from models.resources.feeds import FeedResource
from models.resources.tools import ToolResource
from models.verdict import VERDICTS
from services.feeds.bulk import ACTIONS, MOST_FEEDS
from services.feeds.form import HIGHEST_LIMIT, HIGHEST_PRIORITY, LONGEST_NAME, LONGEST_TAG, LONGEST_URL, MOST_TAGS
from services.feeds.listing import MOST_IDS
from services.mentions.correction_form import LONGEST_ARTICLE_ID, LONGEST_AUTHOR, LONGEST_REASON
from services.stories.correction_form import LEVELS
from services.tools import form as tool_form
from triggers.declared import Body, Schema
from triggers.paths import STORY_ID

FEED_ID_FORM = "^[A-Za-z0-9][A-Za-z0-9._\\-]{0,63}$"
FEED_ID: Schema = {"type": "string", "pattern": FEED_ID_FORM}
NOTHING = Body("Nothing", {}, about="No field.", examples={"nothing": {}})


def _or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema, or null, which stands for the absence of the field."""
    return {**schema, "type": [schema["type"], "null"]} if "enum" not in schema else _enum_or_null(schema)


def _enum_or_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    return {**schema, "type": [schema["type"], "null"], "enum": [*schema["enum"], None]}


def _change_of(shape: type[Resource], changeable: Mapping[str, Schema]) -> dict[str, Schema]:
    """The fields that can be changed, and the others of the resource: a change may be a resource that was sent back."""
    ignored: Schema = {"readOnly": True, "description": "Ignored beside a field that can be changed."}
    return {**changeable, **{name: ignored for name in shape.model_fields if name not in changeable}}


def _names(about: str) -> Schema:
    name = {"type": "string", "minLength": 1, "maxLength": tool_form.LONGEST_NAME, "format": "visible-text"}
    return {"type": "array", "items": name, "maxItems": tool_form.MOST_NAMES, "description": about}


_AUTHOR: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_AUTHOR,
    "format": "visible-text",
    "description": "The name of the person who says so.",
}
_REASON: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_REASON,
    "format": "single-line",
    "description": "Why.",
}
_SIGNED: Mapping[str, Schema] = {"author": _AUTHOR, "reason": _or_null(_REASON)}
_BY_ADA = {"author": "Ada", "reason": "two products"}

_ARTICLE: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_ARTICLE_ID,
    "pattern": "\\S",
    "description": "The id of an article.",
}

_TAGS: Schema = {
    "type": "array",
    "maxItems": MOST_TAGS,
    "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_TAG, "format": "tag"},
    "description": "Tags, none of them with a comma. A slash separates levels, as in News/World. A change "
    "replaces all.",
}
_URL: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": LONGEST_URL,
    "format": "web-url",
    "description": "The URL of a feed, or of a web page that links to its feed: `http` or `https`, without user or "
    "password. `feed:https://…` and `feed://…` mean `https://…` and `http://…`. Only its form is checked at once.",
}
_OF_A_FEED: dict[str, Schema] = {
    "url": _URL,
    "source_name": {
        "type": "string",
        "minLength": 1,
        "maxLength": LONGEST_NAME,
        "format": "single-line",
        "description": "The name that people know the source by.",
    },
    "priority": {
        "type": "number",
        "exclusiveMinimum": 0,
        "maximum": HIGHEST_PRIORITY,
        "description": "Of the feeds that are due, those with the highest priority are fetched first. 1 if absent.",
    },
    "source_priority": {
        "type": "integer",
        "minimum": 1,
        "maximum": LOWEST_PRIORITY,
        "description": "The source with the lowest number gives an article its canonical reading. 999 if absent. "
        "A change applies to stored articles too.",
    },
    "enabled": {
        "type": "boolean",
        "description": "Whether the feed is fetched; true if absent. Enabling a disabled feed sets its errors to 0 and "
        "makes it due at once.",
    },
    "credential": {
        "type": "string",
        "pattern": "^FEED_CREDENTIAL_[A-Z0-9_]+$",
        "description": "The name of a setting with the value `basic USER:PASSWORD` or `header NAME: VALUE`. "
        "400 if the app has no such setting: add the setting first. Null in a change removes it.",
    },
    "daily_limit": {
        "type": "integer",
        "minimum": 1,
        "maximum": HIGHEST_LIMIT,
        "description": "The new articles that the feed may bring in a day. If absent, the limit follows from its "
        "history. Null in a change removes it.",
    },
    "full_text": {
        "type": "string",
        "enum": list(get_args(FullTextChoice)),
        "description": "Whether the text of the page behind an entry is acquired and scored: `never` (if "
        "absent), `short` (if the entry has fewer than 600 characters of text), or `always`. It holds for "
        "entries that are new or edited from then on.",
    },
    "tags": _TAGS,
}
_REMOVABLE = ("credential", "daily_limit")
FEED_PREVIEW = Body(
    "FeedPreviewRequest",
    {"url": _URL, "credential": _or_null(_OF_A_FEED["credential"])},
    required=("url",),
    examples={"a page": {"url": "https://example.com/news/"}},
)
_NULL: Schema = {"type": "null"}
_GIVEN_URL: Mapping[str, Schema] = {"url": {"type": "string"}, "source_name": {"type": "string"}}
_GIVEN_PRESET: Mapping[str, Schema] = {"preset": {"type": "string"}, "values": {"type": "object"}}
NEW_FEED = Body(
    "NewFeed",
    {
        **{name: _or_null(schema) for name, schema in _OF_A_FEED.items()},
        "feed_id": _or_null(
            {
                **FEED_ID,
                "description": "It never changes. If absent, it is 16 characters that follow from the URL. Not "
                "`tiingo`, `finnhub`, `apply`, `import`, `export`, `bulk` or `preview`.",
            }
        ),
        "preset": _or_null(
            {"type": "string", "format": "preset", "description": "Instead of `url`: a preset by name."}
        ),
        "values": _or_null(
            {
                "type": "object",
                "additionalProperties": {"type": "string"},
                "description": "The values of the preset, by name.",
            }
        ),
    },
    examples={
        "a feed": {"url": "https://example.com/feed.xml", "source_name": "Example", "tags": ["News/World"]},
        "a preset": {"preset": "github-releases", "values": {"owner": "astral-sh", "repository": "uv"}, "tags": ["uv"]},
    },
    about="A feed to add. It needs `url` and `source_name`, or `preset` with its `values`.",
    rules={
        "oneOf": [
            {"required": ["url", "source_name"], "properties": {**_GIVEN_URL, "preset": _NULL, "values": _NULL}},
            {"required": ["preset", "values"], "properties": {**_GIVEN_PRESET, "url": _NULL}},
        ]
    },
)
FEED_CHANGE = Body(
    "FeedChange",
    _change_of(
        FeedResource,
        {name: _or_null(schema) if name in _REMOVABLE else schema for name, schema in _OF_A_FEED.items()},
    ),
    examples={"tags": {"tags": ["Python"]}},
    about="The fields to change; or what `GET` returned, with changes. Null removes `credential` or `daily_limit`.",
)
BULK = Body(
    "BulkAction",
    {
        "action": {"type": "string", "enum": list(ACTIONS), "description": "What is done with each feed."},
        "filter": {
            "type": "object",
            "minProperties": 1,
            "additionalProperties": False,
            "properties": {
                "verdict": {"type": "string", "enum": list(VERDICTS), "description": "The verdict on the feed."},
                "tag": {
                    "type": "string",
                    "minLength": 1,
                    "maxLength": LONGEST_TAG,
                    "format": "tag",
                    "description": "A tag of the feed.",
                },
                "host": {"type": "string", "format": "host", "description": "The host that the feed is fetched from."},
                "enabled": {"type": "boolean", "description": "Whether the feed is fetched."},
                "text": {
                    "type": "string",
                    "format": "words",
                    "description": "1 to 10 whole words, which all occur in `source_name` or `title`, in any case.",
                },
                "ids": {
                    "type": "array",
                    "items": FEED_ID,
                    "minItems": 1,
                    "maxItems": MOST_IDS,
                    "description": "These feeds.",
                },
            },
            "description": "Which feeds: all of these conditions hold.",
        },
        "tags": {**_TAGS, "description": "The tags that `tag` adds and `untag` removes; absent with other actions."},
        "dry_run": {"type": "boolean", "description": "True: nothing changes, and the response says what would."},
        "limit": _or_null(
            {
                "type": "integer",
                "minimum": 1,
                "maximum": MOST_FEEDS,
                "description": "How many feeds one request works on; with `ids`, all of them.",
            }
        ),
        "cursor": _or_null({"type": "string", "description": "`next` of the response before."}),
    },
    ("action", "filter"),
    {"dry run": {"action": "disable", "filter": {"host": "example.com"}, "dry_run": True}},
    about="One action on many feeds. `tags` goes with `tag` and `untag`, and with no other action.",
    rules={
        "if": {"properties": {"action": {"enum": ["tag", "untag"]}}},
        "then": {"required": ["tags"], "properties": {"tags": {"minItems": 1}}},
        "else": {"properties": {"tags": {"maxItems": 0}}},
    },
)

_STATUS: Schema = {
    "type": "string",
    "enum": list(tool_form.STATUSES),
    "description": "`DEPRECATED`: the tool is not searched for any more, and keeps its mentions.",
}
_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "maxLength": tool_form.LONGEST_NAME,
    "format": "visible-text",
    "description": "A name belongs to one tool; case and spacing are ignored, punctuation is not (C, C#, C++).",
}
_OF_A_TOOL: dict[str, Schema] = {
    "name": _NAME,
    "aliases": _names("Other names. A change replaces the list as a whole."),
    "tickers": {
        "type": "array",
        "items": {"type": "string", "pattern": "^[A-Z0-9][A-Z0-9.\\-]{0,14}$"},
        "maxItems": tool_form.MOST_NAMES,
        "description": "Found as $MSFT, as NASDAQ: MSFT, or among the tags and tickers of the source. They are "
        "requested from news APIs.",
    },
    "keywords": _names("Words that mean the tool too; several tools may share a keyword."),
    "excluded": _names(
        "Phrases that rule the tool out. In a phrase with a name of the tool, the name does not count; any "
        "other phrase rules the tool out of every article that contains it."
    ),
    "muted_sources": {
        "type": "array",
        "items": FEED_ID,
        "maxItems": tool_form.MOST_NAMES,
        "description": "Ids of feeds. An article that only these sources published does not mention the tool.",
    },
    "name_rules": {
        "type": "object",
        "maxProperties": tool_form.MOST_NAMES,
        "propertyNames": {"minLength": 1, "maxLength": tool_form.LONGEST_NAME, "format": "visible-text"},
        "additionalProperties": {
            "type": "object",
            "additionalProperties": False,
            "properties": {
                "case_sensitive": {"type": "boolean", "description": "Whether the name counts only in this case."},
                "context": _names("The name counts only near one of these words."),
            },
        },
        "description": "Rules by name: the name counts only in this case, and only near one of these words. A rule is "
        "for the name or an alias as it is written.",
    },
}
NEW_TOOL = Body(
    "NewTool",
    {"name": _NAME, **{name: _or_null(schema) for name, schema in _OF_A_TOOL.items() if name != "name"}},
    ("name",),
    {"a tool": {"name": "Visual Studio Code", "aliases": ["VS Code"], "tickers": ["MSFT"]}},
    about="A tool to add.",
)
TOOL_CHANGE = Body(
    "ToolChange",
    _change_of(ToolResource, {**_OF_A_TOOL, "status": _STATUS}),
    examples={"an alias": {"aliases": ["CPython"]}},
    about="The fields to change; or what `GET` returned, with changes.",
)
_TOOL_NAME: Schema = {
    "type": "string",
    "minLength": 1,
    "pattern": "\\S",
    "description": "The id, name or alias of the tool into which this one is merged.",
}
MERGE = Body(
    "ToolMergeRequest",
    {"into": _TOOL_NAME, "author": _or_null(_AUTHOR), "reason": _or_null(_REASON)},
    ("into",),
    {"merge": {"into": "Python", "author": "Ada", "reason": "one product"}},
    about="`reason` needs `author`.",
    rules={
        "anyOf": [
            {"required": ["author"], "properties": {"author": {"type": "string"}}},
            {"properties": {"author": {"type": "null"}, "reason": {"type": "null"}}},
        ]
    },
)
REANALYSIS = Body(
    "Reanalysis",
    {
        "apply": {
            "type": "boolean",
            "description": "True if absent: the new scores are stored. False: they are only compared.",
        },
        "analyzer": _or_null(
            {
                "type": "string",
                "format": "analyzer",
                "description": "With `apply: false`: `embedded`, the shipped table; `azure-language`, which "
                "sends every passage to that service; or `candidate`, the table in `SENTIMENT_CANDIDATE_FILE`. "
                "The present analyzer if absent.",
            }
        ),
    },
    examples={"apply": {}, "compare": {"apply": False, "analyzer": "embedded"}},
    about="Scores all mentions of the tool again, or compares only.",
    rules={
        "anyOf": [
            {"required": ["apply"], "properties": {"apply": {"const": False}}},
            {"properties": {"analyzer": {"type": "null"}}},
        ]
    },
)
SIGNED = Body("Signed", _SIGNED, ("author",), {"signed": _BY_ADA}, about="Who asks for it, and why.")
_CORRECTED: Mapping[str, list[str | None]] = {
    "article": [*MENTION_VERDICTS],
    "source": ["mute", None],
    "phrase": ["exclude", None],
}
"""What can be corrected, with the verdicts on it. None: the verdict may be left out."""


def _correction(name: str, verdicts: list[str | None]) -> Schema:
    others: dict[str, Schema] = {other: {"type": "null"} for other in _CORRECTED if other != name}
    needed = [name] if None in verdicts else [name, "verdict"]
    return {"required": needed, "properties": {name: {"type": "string"}, "verdict": {"enum": verdicts}, **others}}


CORRECTION = Body(
    "NewCorrection",
    {
        "article": _or_null({**_ARTICLE, "description": "The id of the article whose mention is corrected."}),
        "source": _or_null({**FEED_ID, "description": "The id of a feed whose articles are never about the tool."}),
        "phrase": _or_null({**_NAME, "description": "A phrase in which the name means something else."}),
        "verdict": _or_null(
            {
                "type": "string",
                "enum": [*MENTION_VERDICTS, "mute", "exclude"],
                "description": "With `article`, required: `not_this_tool` removes the mention; `positive`, "
                "`negative` and `neutral` are its sentiment; `right` confirms it. With `source`: `mute`. With "
                "`phrase`: `exclude`.",
            }
        ),
        **_SIGNED,
    },
    ("author",),
    {"muted source": {"source": "python-insider", "author": "Ada", "reason": "never about it"}},
    about="Exactly one of `article`, `source` and `phrase`.",
    rules={"oneOf": [_correction(name, verdicts) for name, verdicts in _CORRECTED.items()]},
)
_OTHER_ARTICLE = "dedup:1b4e28ba2fa1421e8f1a0b8e9c1f2d3a"
SPLIT_ARTICLE = Body(
    "ArticleSplit",
    {"source": {**FEED_ID, "description": "The source that becomes an article of its own."}, **_SIGNED},
    ("source", "author"),
    {"a source": {"source": "python-insider", "author": "Ada", "reason": "another release"}},
)
PAIR = Body(
    "ArticlePair",
    {
        "article": _ARTICLE,
        "as": {
            "type": "string",
            "enum": list(LEVELS),
            "description": "`near_duplicate` (if absent): they repeat each other in almost the same words. "
            "`story`: they are of one story.",
        },
        **_SIGNED,
    },
    ("article", "author"),
    {"a story": {"article": _OTHER_ARTICLE, "as": "story", "author": "Ada"}},
)
SPLIT_STORY = Body(
    "StorySplit",
    {
        "articles": {
            "type": "array",
            "items": _ARTICLE,
            "minItems": 1,
            "maxItems": MOST_ARTICLES,
            "description": "The articles that leave the story together.",
        },
        **_SIGNED,
    },
    ("articles", "author"),
    {"an article": {"articles": [_OTHER_ARTICLE], "author": "Ada", "reason": "another event"}},
)
OTHER_STORY = Body(
    "StoryPair",
    {
        "story": {"type": "string", "pattern": STORY_ID, "description": "The id of the other story."},
        **_SIGNED,
    },
    ("story", "author"),
    {"another story": {"story": "story:20260222:7c9e6679f4f84a2b8d7e5f3a1b2c3d4e", "author": "Ada"}},
)
REVIEW = Body(
    "Review",
    {
        "decision": {
            "type": "string",
            "enum": ["same_articles_new_ids", "new_articles", "drop", "CLEARED_RETRY_APPROVED", "CLEARED_TERMINAL"],
            "description": "Of a flood: `same_articles_new_ids` adds the ids to the articles that the entries "
            "are, and ingests the others. Of any batch: `new_articles` ingests all entries, `drop` none. Of a "
            "full text: `CLEARED_RETRY_APPROVED` tries it again, `CLEARED_TERMINAL` gives it up.",
        },
        "author": _AUTHOR,
        "reason": _REASON,
    },
    ("decision", "author", "reason"),
    {"drop": {"decision": "drop", "author": "Ada", "reason": "spam"}},
)
REDRIVE = Body(
    "Redrive",
    {
        "limit": _or_null(
            {
                "type": "integer",
                "minimum": 1,
                "maximum": 1000,
                "description": "How many messages at most; 1,000 if absent.",
            }
        )
    },
    examples={"ten": {"limit": 10}},
)
