"""Which references a tool has, and which are kept of a day."""

from __future__ import annotations

import pytest

from models.resources.tools import ReferenceResource
from models.tool import Reference, ReferenceRole
from tests.documents import ARTICLE_ID, mention, reference, tool


def test_a_reference_has_the_data_of_the_mention() -> None:
    said = mention(publisher="Reuters", url="https://reuters.example/1", event_id="story", role="OTHER")
    found = said.reference
    assert (found.source_id, found.source, found.source_identifier) == (said.source_id, "Reuters", said.url)
    assert (found.title, found.published_at) == (said.headline, said.published_at)
    assert (found.role, found.event_id, found.created_at) == ("OTHER", "story", said.created_at)
    found = mention(publisher=None, url=None).reference
    assert (found.source, found.source_identifier) == (mention().source, mention().source_id)
    assert mention(publisher=None, source=None).reference.source is None


@pytest.mark.parametrize(
    ("first", "stored", "served"),
    [
        (ARTICLE_ID, "OTHER", "DISCOVERY"),
        (ARTICLE_ID, "DISCOVERY", "DISCOVERY"),
        ("another", "DISCOVERY", "TIMELINE_SOURCE"),
        (None, "DOCUMENT_SOURCE", "DOCUMENT_SOURCE"),
    ],
)
def test_the_tool_knows_which_article_is_its_first(
    first: str | None, stored: ReferenceRole, served: ReferenceRole
) -> None:
    assert reference(role=stored).role_for(tool(discovery_reference=first)) == served


def test_a_served_reference_links_to_its_article_while_it_exists() -> None:
    kept: Reference = reference()
    known = tool()
    assert ReferenceResource.of(kept, known, article_exists=True).article_url == f"/api/v1/articles/{ARTICLE_ID}"
    gone = ReferenceResource.of(kept, known, article_exists=False)
    assert (gone.article_url, gone.shown()["source_id"], "article" in gone.links) == (None, ARTICLE_ID, False)
