"""An article, and what one source published of it, as the API shows them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

from pydantic import Field

from models.article import Article, FullText
from models.observation import Observation
from models.resources.base import PARTS_LEFT_OUT, Resource, Stored, View, added, links, path
from models.resources.mentions import MentionResource
from models.scored import ScoredDocument, WordsJudgement
from models.values import Count, IdPart, Text


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
        cls,
        observation: Observation,
        said: ScoredDocument | WordsJudgement | None,
        tools: Sequence[SaidOfTool] | None,
        view: View = "default",
    ) -> Self:
        """`said` is the judgement of its words in general, `tools` that for each tool; None if there is none."""
        judgement = {name: getattr(said, name, None) for name in WordsJudgement.model_fields}
        article, feed = path("articles", observation.source_id), path("feeds", observation.source)
        return cls.made(
            observation,
            view,
            **judgement,
            tools=None if tools is None else list(tools),
            links=links(article=article, feed=feed),
        )


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
