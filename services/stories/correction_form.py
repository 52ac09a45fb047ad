"""What people enter for a correction of articles or stories. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field

from models.grouping_correction import MOST_ARTICLES
from models.request import ArticleId, FeedId, SignedBody, each_once
from models.story import STORY_ID

_OTHER_ARTICLE = "dedup:1b4e28ba2fa1421e8f1a0b8e9c1f2d3a"


class ArticleSplit(
    SignedBody, examples={"a source": {"source": "python-insider", "author": "Ada", "reason": "another release"}}
):
    source: FeedId = Field(description="The source that becomes an article of its own.")


class StorySplit(
    SignedBody, examples={"an article": {"articles": [_OTHER_ARTICLE], "author": "Ada", "reason": "another event"}}
):
    articles: Annotated[
        tuple[ArticleId, ...], Field(min_length=1, max_length=MOST_ARTICLES), AfterValidator(each_once)
    ] = Field(description="The articles that leave the story together.")


class StoryPair(
    SignedBody,
    examples={"another story": {"story": "story:20260222:7c9e6679f4f84a2b8d7e5f3a1b2c3d4e", "author": "Ada"}},
):
    story: ArticleId = Field(
        description="The id of the other story.", json_schema_extra={"pattern": STORY_ID, "maxLength": 47}
    )
