"""One resource of each kind, made from the documents of tests/documents.py."""

from collections.abc import Callable

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
from models.resources.tools import MergeResource, ReferenceResource, ToolResource
from models.stored import StoredDocument
from tests import documents

NOW = documents.NOW


def _aggregate(view: View) -> AggregateResource:
    completeness = {"pending_articles": 0, "failed_articles": 0, "complete": True}
    return AggregateResource.of(
        documents.cache_entry(), "Apple", view, is_stale=False, reanalysis_offered=False, **completeness
    )


EACH: dict[str, tuple[StoredDocument, Callable[[View], Resource]]] = {
    "Article": (documents.article(), lambda view: ArticleResource.of(documents.article(), "Example", view)),
    "Observation": (
        documents.observation(),
        lambda view: ObservationResource.of(documents.observation(), documents.article(), (), view),
    ),
    "Feed": (documents.feed(), lambda view: FeedResource.of(documents.feed(), view)),
    "Tool": (documents.tool(), lambda view: ToolResource.of(documents.tool(), view)),
    "SentimentScore": (documents.mention(), lambda view: MentionResource.of(documents.mention(), view)),
    "aggregate": (documents.cache_entry(), _aggregate),
    "JobRun": (documents.run(), lambda view: RunResource.of(documents.run(), view)),
    "IngestionBatch": (documents.ingestion_batch(), lambda view: RunResource.of(documents.ingestion_batch(), view)),
    "Attempt": (documents.attempt(), lambda view: AttemptResource.of(documents.attempt(), view)),
    "Correction": (
        documents.correction(),
        lambda view: CorrectionResource.of(documents.correction(), "active", view),
    ),
    "Story": (documents.story(), lambda view: StoryResource.of(documents.story(), NOW, view)),
    "Signal": (
        documents.signal(),
        lambda view: SignalResource.of(documents.signal(), "Apple", documents.HEADLINE, view),
    ),
    "ToolMerge": (documents.tool_merge(), lambda view: MergeResource.of(documents.tool_merge(), view)),
    "GroupingCorrection": (
        documents.grouping_correction(),
        lambda view: GroupingCorrectionResource.of(documents.grouping_correction(), view),
    ),
    "QuarantineItem": (documents.quarantined(), lambda view: QuarantineResource.of(documents.quarantined(), view)),
    "DataProduct": (documents.document(), lambda view: DocumentResource.of(documents.document(), view)),
    "FileObject": (documents.file_object(), lambda view: FileResource.of(documents.file_object(), view)),
}
"""By the kind of the stored document: the document, and the resource in a view."""


def reference() -> ReferenceResource:
    return ReferenceResource.of(documents.reference(), documents.tool(), article_exists=True)


def member() -> StoryMemberResource:
    return StoryMemberResource.of(documents.story_member(), documents.article(), "Example")
