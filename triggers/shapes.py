"""What the endpoints answer with, by the names of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from models.article import JoinRule
from models.grouping_correction import Kind
from models.resources.aggregates import AggregateResource
from models.resources.articles import ArticleResource
from models.resources.corrections import CorrectionResource, GroupingCorrectionResource
from models.resources.documents import DocumentResource
from models.resources.feeds import FeedResource
from models.resources.mentions import MentionResource
from models.resources.quarantine import QuarantineResource
from models.resources.runs import AttemptResource, RunResource
from models.resources.stories import SignalResource, StoryResource
from models.resources.tools import MergeResource, Precision, ReferenceResource, ToolResource
from services.feeds.bulk import ACTIONS
from triggers.declared import Schema, Shape
from triggers.schemas import a_count, a_number, a_part, a_text, a_time, an_object, by_name, many, maybe, or_null

_RUN_ID = a_text("The run: `GET /api/v1/runs/{run_id}` shows its progress.")
RUN_STARTED: Schema = an_object("RunStarted", {"run_id": _RUN_ID})
MERGE_STARTED: Schema = an_object("MergeStarted", {"run_id": _RUN_ID, "undo": a_text("How to undo the merge.")})

ARTICLE: Shape = ArticleResource
ATTEMPT: Shape = AttemptResource
CORRECTION: Shape = CorrectionResource
DOCUMENT: Shape = DocumentResource
FEED: Shape = FeedResource
GROUPING_CORRECTION: Shape = GroupingCorrectionResource
MENTION: Shape = MentionResource
MERGE: Shape = MergeResource
QUARANTINE_ITEM: Shape = QuarantineResource
REFERENCE: Shape = ReferenceResource
RUN: Shape = RunResource
SENTIMENT: Shape = AggregateResource
SIGNAL: Shape = SignalResource
STORY: Shape = StoryResource
TOOL: Shape = ToolResource

_VALUE = an_object(
    "PresetValue",
    {
        "name": a_text("Its name."),
        "about": a_text("What it is."),
        "pattern": a_text("A regular expression of all that is allowed."),
        "example": a_text("An example."),
    },
)
PRESET: Schema = an_object(
    "Preset",
    {
        "preset": a_text("Its name."),
        "about": a_text("What its feeds have."),
        "url": a_text("The URL, with the values in braces."),
        "source_name": a_text("The name of the source, with the values in braces."),
        "values": many(_VALUE, "The values that it takes."),
    },
)
_NAMED = an_object("NamedFeed", {"feed_id": a_text("The feed."), "source_name": a_text("Its name.")})
_REFUSED = an_object(
    "RefusedOutline",
    {
        "line": maybe("The line in the document.", "integer"),
        "url": maybe("Its URL."),
        "source_name": maybe("Its name."),
        "reason": a_text("Why it was refused."),
    },
)
FEED_IMPORT: Schema = an_object(
    "FeedImport",
    {
        "added": many(_NAMED, "The new feeds."),
        "known": many(_NAMED, "Feeds that were there, which stay as they are."),
        "refused": many(_REFUSED, "Outlines that are no feeds."),
    },
)
_RUNS: Mapping[str, Schema] = {"runs": many(a_text("A run."), "The runs that do what follows from the changes.")}
FEEDS_APPLIED: Schema = an_object(
    "FeedsApplied",
    {
        "added": many(_NAMED, "The new feeds."),
        "changed": many(_NAMED, "Feeds that were there, and are as the list has them now."),
        "known": many(_NAMED, "Feeds that were so already."),
        "refused": many(_REFUSED, "Entries that were not applied."),
        **_RUNS,
    },
)
_NAMED_TOOL = an_object("NamedTool", {"tool_id": a_text("The tool."), "name": a_text("Its name.")})
_REFUSED_TOOL = an_object(
    "RefusedTool",
    {
        "line": maybe("The line in the document.", "integer"),
        "name": maybe("Its name."),
        "reason": a_text("Why it was refused."),
    },
)
TOOLS_APPLIED: Schema = an_object(
    "ToolsApplied",
    {
        "added": many(_NAMED_TOOL, "The new tools."),
        "changed": many(_NAMED_TOOL, "Tools that were there, and are as the list has them now."),
        "known": many(_NAMED_TOOL, "Tools that were so already."),
        "refused": many(_REFUSED_TOOL, "Entries that were not applied."),
        **_RUNS,
    },
)
BULK_RESULT: Schema = an_object(
    "BulkResult",
    {
        "feed_id": a_text("The feed."),
        "outcome": a_text(
            "`changed`; `unchanged`: the feed is so already, or `run_id` is about to fetch it.",
            enum=["changed", "unchanged", "refused"],
        ),
        "reason": maybe("Why it was refused."),
        "run_id": maybe("The run that fetches it."),
    },
)
BULK_FACTS: Mapping[str, Schema] = {
    "action": a_text("The action.", enum=list(ACTIONS)),
    "dry_run": {"type": "boolean", "description": "True: nothing was changed."},
}
QUEUE: Schema = an_object(
    "Queue",
    {
        "name": a_text("Its name."),
        "messages": a_count("How many wait."),
        "poison": a_count("How many failed five times."),
        "poison_messages": many({}, "Up to five of them."),
    },
)
REDRIVEN: Schema = an_object(
    "Redriven", {"name": a_text("The queue."), "moved": a_count("How many messages and articles were sent.")}
)
_NAME_IN_ARTICLE = an_object(
    "NameInArticle",
    {
        "name": a_text("As it is written in the article."),
        "kind": a_text("What kind of name it is."),
        "where": a_text("The part of the article."),
        "cues": many({"type": "string"}, "For a name that is also something else: what beside it decided."),
    },
)
_SAMPLE = an_object(
    "PreviewedArticle",
    {
        "source_id": a_text("The article."),
        "headline": a_text("Its headline."),
        "timestamp": a_text("When it was published.", format="date-time"),
        "matches": many(_NAME_IN_ARTICLE, "The names that were found."),
    },
)
TOOL_PREVIEW: Shape = an_object(
    "ToolPreview",
    {
        "would_add": a_count("How many articles the tool would get."),
        "would_remove": a_count("How many it would lose."),
        "articles_looked_at": a_count("The newest articles of the last 30 days, at most 20,000."),
        "complete": {"type": "boolean", "description": "False: there were more."},
        "taken_by": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "By name of the change, the tool that owns it already.",
        },
        "added": many(_SAMPLE, "Up to ten of them."),
        "removed": many(_SAMPLE, "Up to ten of them."),
    },
)


def _figures(about: str) -> Schema:
    counts = {
        "total_mentions": a_count("Number of scored mentions."),
        "positive_count": a_count("The positive ones."),
        "negative_count": a_count("The negative ones."),
        "neutral_count": a_count("The neutral ones."),
        "unscored_mentions": a_count("Number of mentions that could not be scored."),
    }
    return a_part({**counts, "average_sentiment": a_number("Mean `polarity` of the scored ones.")}, description=about)


_TOOL_EFFECT = an_object(
    "EffectOnTool",
    {
        "tool_id": a_text("The tool."),
        "tool": a_text("Its name."),
        "mentions_added": a_count("Mentions that it would get."),
        "mentions_removed": a_count("Mentions that it would lose."),
        "figures": by_name(
            an_object("FiguresChanged", {"before": _figures("As they are."), "after": _figures("As they would be.")}),
            "By period: the figures that change.",
        ),
    },
)
_EFFECT = an_object(
    "EffectOfDecision",
    {
        "new_articles": a_count("Articles that would be created."),
        "changed_articles": a_count("Articles that would get a source or an edit."),
        "ids_added": a_count("Ids that would be added to stored articles."),
        "left_out": a_count("Entries that would not be ingested."),
        "mentions_added": a_count("Mentions of all tools."),
        "mentions_removed": a_count("Mentions of all tools."),
        "tools_changed": a_count("How many tools change."),
        "tools": many(_TOOL_EFFECT, "The 50 that change most."),
    },
)
QUARANTINE_PREVIEW: Shape = an_object(
    "QuarantinePreview",
    {
        "quarantine_id": a_text("The item."),
        "entries": a_count("Entries of the batch."),
        "entries_looked_at": a_count("Those that the preview looked at, at most 1,000."),
        "complete": {"type": "boolean", "description": "Whether these are all."},
        "effects": {"type": "object", "additionalProperties": _EFFECT, "description": "By decision: what it would do."},
        "ambiguous": many(
            an_object(
                "AmbiguousEntry",
                {
                    "url": a_text("Its URL."),
                    "headline": a_text("Its headline."),
                    "article_ids": many({"type": "string"}, "The articles that it may be."),
                },
            ),
            "Up to 20 entries that may be several articles.",
        ),
    },
)
_COMPARED = by_name({"type": ["string", "number", "null"]}, "What was compared, by name.")
_REASON: Mapping[str, Schema] = {
    "rule": a_text("The rule that put them together; `person`: a person did."),
    "score": maybe("How alike they are by this rule, 0 to 1; null if the rule has no such figure.", "number"),
    "fields": _COMPARED,
    "with_article": maybe("The article that it was compared with."),
    "correction_id": maybe("The correction, if a person said so."),
}
_SOURCE_IN_ARTICLE = an_object(
    "SourceInArticle",
    {
        "source": a_text("The feed."),
        "rule": {
            "enum": [*get_args(JoinRule), None],
            "description": "The rule by which it is in the article: `joined_by` of its attribution; null: not known.",
        },
        "fields": by_name({"type": ["string", "null"]}, "What it had in common with the article, by name."),
        "joined_at": a_time("When it joined the article."),
        "run_id": maybe("The run that added it; null: not known."),
    },
)
_NEAR_DUPLICATE = an_object("NearDuplicate", {"near_duplicate_of": maybe("The article that it repeats."), **_REASON})
_PLACE_IN_STORY = an_object(
    "PlaceInStory",
    {
        "event_id": a_text("The story."),
        "reason": or_null(
            an_object("ReasonOfStory", _REASON), "Why it is there; the article that begins a story has no reason."
        ),
    },
)
_CORRECTION_NAMED = an_object(
    "CorrectionNamed",
    {
        "correction_id": a_text("The correction."),
        "kind": a_text("What was said.", enum=list(get_args(Kind))),
        "state": a_text("Whether it applies.", enum=["active", "undone"]),
        "made_at": a_time("When it was made."),
        "undone_at": or_null({"type": "string", "format": "date-time"}, "When it was undone; null while it applies."),
    },
)
LEDGER_ENTRY: Shape = an_object(
    "LedgerEntry",
    {
        "source_id": a_text("The article."),
        "headline": a_text("Its headline."),
        "sources": many(_SOURCE_IN_ARTICLE, "Its sources, in the order in which they joined it."),
        "near_duplicate": or_null(
            _NEAR_DUPLICATE, "The article that it repeats in almost the same words, with the reason; null if none."
        ),
        "story": or_null(_PLACE_IN_STORY, "Its story; null until the article is grouped."),
        "corrections": many(_CORRECTION_NAMED, "The corrections that name the article, without their authors."),
    },
)
PRECISION: Mapping[str, Any] = {"precision": Precision, "precision_of_all_tools": Precision}
REFERENCE_FACTS: Mapping[str, Schema] = {
    "not_kept": {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "description": "By day, how many references are missing at most: of a day with several thousand only the "
        "latest are kept.",
    }
}
