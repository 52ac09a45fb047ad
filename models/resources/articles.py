"""Articles, what each source published, mentions, full texts, and what is in quarantine, as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from pydantic import Field

from models.article import Article, FullText, Observation
from models.document import DocumentProduct, Eligibility, FileObject
from models.mention import SentimentScore, what_it_says
from models.quarantine import QuarantineItem
from models.resources.base import PARTS_LEFT_OUT, Resource, Shape, Stored, View, added, links, path
from models.resources.runs import AttemptResource
from models.stored import WordsJudgement
from models.values import Count, IdPart, Text


class MentionResource(Stored):
    """What one article says of one tool."""

    DOCUMENTS = (SentimentScore,)

    links: dict[str, str] = Field(description="Paths: the mention itself, the article, the tool, the story.")
    tool: str | None = added("The name of the tool, in `GET articles/{article_id}`.")

    @classmethod
    def of(cls, mention: SentimentScore, view: View = "default") -> Self:
        own = path("tools", mention.tool_id, "mentions", mention.source_id)
        return cls.made(
            mention,
            view,
            links=links(
                self=own,
                article=path("articles", mention.source_id),
                tool=path("tools", mention.tool_id),
                story=path("stories", mention.event_id) if mention.event_id else None,
            ),
        )


class NamedMention(NamedTuple):
    """A mention with the name of its tool. `tool` is the primary name; None for a tool that cannot be read."""

    mention: SentimentScore
    tool: str | None


class SaidOfTool(Resource):
    """What the words of one source say of a tool."""

    DOCUMENTS = (WordsJudgement,)

    tool_id: IdPart = Field(description="The tool.")
    tool: Text | None = Field(description="Its name.")


class ObservationResource(Stored):
    """What one source published of an article, as it was on one UTC day."""

    DOCUMENTS = (Observation, WordsJudgement)

    tools: list[SaidOfTool] | None = Field(
        description="What these words say of each tool that they name; null if they were not judged."
    )
    links: dict[str, str] = Field(description="Paths: the article, and the feed.")

    @classmethod
    def of(
        cls, observation: Observation, article: Article, mentions: Sequence[NamedMention], view: View = "default"
    ) -> Self:
        """With the sentiment of its own words, in general and for each tool that they name.

        Null where these words were not judged: an earlier version of what a source published, or the words of a source
        that the article does not list and no listed source shares.
        """
        revision = observation.revision
        general = article if revision == article.analyzed_revision else (article.other_words or {}).get(revision)
        tools = []
        for mention, tool in mentions if general is not None else ():
            said = what_it_says(mention, revision)
            if said is not None and (revision == mention.revision or revision in (mention.other_words or {})):
                tools.append(SaidOfTool.shaped({"tool_id": mention.tool_id, "tool": tool, **_judgement(said)}))
        return cls.made(
            observation,
            view,
            **_judgement(general),
            tools=None if general is None else tools,
            links=links(article=path("articles", observation.source_id), feed=path("feeds", observation.source)),
        )


def _judgement(said: WordsJudgement | None) -> dict[str, Any]:
    return {name: getattr(said, name, None) for name in WordsJudgement.model_fields}


class FullTextPart(Resource):
    """The text of the page behind an article."""

    DOCUMENTS = (FullText,)


class ArticleResource(Stored):
    """One article across all sources."""

    DOCUMENTS = (Article,)

    source_id: str = Field(description="The id of the article: `dedup:` and `dedup_key`.")
    source_count: Count = Field(description="The number of all its sources, also those that `sources` leaves out.")
    publisher_name: str | None = Field(description="The name of the publisher, or its id.")
    full_text: FullTextPart | None = Field(
        description="The text of the page that was acquired behind the entry; null if there is none."
    )
    grouping_corrections: tuple[str, ...] = Field(
        description="The ids of the corrections of articles and stories that name the article."
    )
    links: dict[str, str] = Field(
        description="Paths: the article itself, its ledger, its story, the article that it repeats, its full text."
    )
    mentions: list[MentionResource] | None = added("The mentions of the article, alone in `GET articles/{article_id}`.")
    mention: MentionResource | None = added("The mention of the tool, in `GET tools/{tool}/articles`.")
    observations: list[ObservationResource] | None = added("What each source published, by day, with `layer=raw`.")
    unreadable: list[str] | None = PARTS_LEFT_OUT

    @classmethod
    def of(cls, article: Article, publisher_name: str | None, view: View = "default") -> Self:
        own, text = path("articles", article.source_id), article.full_text
        repeated = article.near_duplicate_of
        return cls.made(
            article,
            view,
            source_id=article.source_id,
            publisher_name=publisher_name,
            source_count=len(article.sources) if article.source_count is None else article.source_count,
            scored_text=article.scored_text or ("feed" if article.analyzed_at is not None else None),
            full_text=FullTextPart.made(text, view) if text is not None else None,
            grouping_corrections=article.grouping_corrections or (),
            links=links(
                self=own,
                ledger=f"{own}/ledger",
                story=path("stories", article.event_id) if article.event_id else None,
                near_duplicate_of=path("articles", repeated) if repeated else None,
                document=f"{own}/document" if text is not None else None,
            ),
        )


class FileResource(Stored):
    """One file of a full text."""

    DOCUMENTS = (FileObject,)

    file_id: str = Field(description="The id: the role and the name.")
    data_product_id: str = Field(description="The document's own id, a UUID that follows from the article.")
    links: dict[str, str] = Field(description="Paths: the file itself, the article, and the run that made the file.")
    text: str | None = added(
        "The content, alone in `GET articles/{article_id}/document/files/{file_id}`. A page is read in the charset of "
        "its `content_type`, or as UTF-8."
    )

    @classmethod
    def of(cls, file: FileObject, view: View = "default") -> Self:
        article, run = path("articles", file.source_id), path("runs", file.created_by.job_run_id)
        own = path("articles", file.source_id, "document", "files", file.file_id)
        product = file.data_product_id
        paths = links(self=own, article=article, run=run)
        return cls.made(file, view, file_id=file.file_id, data_product_id=product, links=paths)


class DocumentResource(Stored):
    """The state of the full text behind an article."""

    DOCUMENTS = (DocumentProduct,)

    data_product_id: str = Field(description="The document's own id, a UUID that follows from the article.")
    eligibility: Eligibility = Field(description="`ACQUIRE` while the document is to be tried, else `NONE`.")
    links: dict[str, str] = Field(description="Paths: the document itself, the article, the feed.")
    files: list[FileResource] | None = added("The files in the archive.")
    attempts: list[AttemptResource] | None = added("The last 50 tries.")
    unreadable: list[str] | None = PARTS_LEFT_OUT

    @classmethod
    def of(cls, document: DocumentProduct, view: View = "default") -> Self:
        article = path("articles", document.source_id)
        return cls.made(
            document,
            view,
            data_product_id=document.data_product_id,
            eligibility=document.eligibility,
            links=links(self=f"{article}/document", article=article, feed=path("feeds", document.provider)),
        )


class QuarantineResource(Stored):
    """A batch of entries of a feed, or a full text, that waits for the review of a person."""

    DOCUMENTS = (QuarantineItem,)

    links: dict[str, str] = Field(description="Paths: the preview; the feed, or the article and its document.")
    run_id: str | None = added("The run that this request began, in the response to a change; null if it needed none.")

    @classmethod
    def of(cls, item: QuarantineItem, view: View = "default") -> Self:
        is_batch = item.kind == "BATCH"
        return cls.made(
            item,
            view,
            links=links(
                preview=path("quarantine", item.quarantine_id, "preview"),
                feed=path("feeds", item.subject) if is_batch else None,
                article=None if is_batch else path("articles", item.subject),
                document=None if is_batch else path("articles", item.subject, "document"),
            ),
        )


class EffectOnTool(Shape):
    """What a decision would do to a tool."""

    tool_id: str = Field(description="The tool.")
    tool: str = Field(description="Its name.")
    mentions_added: Count = Field(description="Mentions that it would get, as its names are found in the new articles.")


class EffectOfDecision(Shape):
    """What a decision would do."""

    new_articles: Count = Field(description="Articles that would be created.")
    changed_articles: Count = Field(description="Articles that would get a source or an edit.")
    ids_added: Count = Field(description="Ids that would be added to stored articles.")
    left_out: Count = Field(description="Entries that would not be ingested.")
    mentions_added: Count = Field(description="Mentions of all tools that the new articles would have.")
    tools_changed: Count = Field(description="How many tools these are.")
    tools: tuple[EffectOnTool, ...] = Field(description="The 50 with most of them.")


class AmbiguousEntry(Shape):
    """An entry that may be several articles."""

    url: str = Field(description="Its URL.")
    headline: str = Field(description="Its headline.")
    article_ids: tuple[str, ...] = Field(description="The articles that it may be.")


class QuarantinePreview(Shape):
    """What each decision about an item in quarantine would do."""

    quarantine_id: str = Field(description="The item.")
    entries: Count = Field(description="Entries of the batch.")
    entries_looked_at: Count = Field(description="Those that the preview looked at, at most 1,000.")
    complete: bool = Field(description="Whether these are all.")
    effects: dict[str, EffectOfDecision] = Field(description="By decision: what it would do.")
    ambiguous: tuple[AmbiguousEntry, ...] = Field(description="Up to 20 entries that may be several articles.")
    finding: str = added(
        "Of a full text: what its page in the archive is by the profiles of now, `VALID`, `QUARANTINED` or "
        "`SKIPPED_UNAVAILABLE`, and why. An approval has the page fetched again, and it may have changed."
    )
    text: str = added("Of a full text: what stands on that page; its text alone if it is valid.")
