"""One resource of each kind, made from the documents of tests/documents.py."""

from collections.abc import Callable
from typing import Any

from models.resources.articles import (
    ArticleResource,
    DocumentResource,
    FileResource,
    MentionResource,
    ObservationResource,
    QuarantineResource,
)
from models.resources.base import Resource, View
from models.resources.corrections import CorrectionResource, GroupingCorrectionResource
from models.resources.feeds import FeedResource
from models.resources.figures import AggregateResource
from models.resources.runs import AttemptResource, RunResource
from models.resources.stories import SignalResource, StoryMemberResource, StoryResource
from models.resources.tools import MergeResource, NameResource, ReferenceResource, ToolResource
from models.stored import StoredDocument
from tests import documents

NOW = documents.NOW


def _aggregate(view: View) -> AggregateResource:
    completeness = {"pending_articles": 0, "failed_articles": 0, "complete": True}
    return AggregateResource.of(
        documents.cache_entry(), "Apple", view, is_stale=False, reanalysis_offered=False, **completeness
    )


def _of(
    document: StoredDocument, make: Callable[..., Resource], *more: Any
) -> tuple[StoredDocument, Callable[[View], Resource]]:
    return document, lambda view: make(document, *more, view)


EACH: dict[str, tuple[StoredDocument, Callable[[View], Resource]]] = {
    "Article": _of(documents.article(), ArticleResource.of, "Example"),
    "Observation": _of(documents.observation(), ObservationResource.of, documents.article(), ()),
    "Feed": _of(documents.feed(), FeedResource.of),
    "Tool": _of(documents.tool(), ToolResource.of),
    "SentimentScore": _of(documents.mention(), MentionResource.of),
    "aggregate": (documents.cache_entry(), _aggregate),
    "JobRun": _of(documents.run(), RunResource.of),
    "IngestionBatch": _of(documents.ingestion_batch(), RunResource.of),
    "Attempt": _of(documents.attempt(), AttemptResource.of),
    "Correction": _of(documents.correction(), CorrectionResource.of, "active"),
    "Story": _of(documents.story(), StoryResource.of, NOW),
    "Signal": _of(documents.signal(), SignalResource.of, "Apple", documents.HEADLINE),
    "ToolMerge": _of(documents.tool_merge(), MergeResource.of),
    "NameMapping": _of(documents.tool_name(), NameResource.of),
    "GroupingCorrection": _of(documents.grouping_correction(), GroupingCorrectionResource.of),
    "QuarantineItem": _of(documents.quarantined(), QuarantineResource.of),
    "DataProduct": _of(documents.document(), DocumentResource.of),
    "FileObject": _of(documents.file_object(), FileResource.of),
}
"""By the kind of the stored document: the document, and the resource in a view."""


def reference() -> ReferenceResource:
    return ReferenceResource.of(documents.reference(), documents.tool(), article_exists=True)


def member() -> StoryMemberResource:
    return StoryMemberResource.of(documents.story_member(), documents.article(), "Example")
