"""Which references a tool has, and which are kept of a day."""

from __future__ import annotations

from datetime import date, timedelta
from uuid import UUID

import pytest

from models.errors import InvalidInput
from models.reference import Reference, reference_id
from models.resources.tools import ReferenceResource
from models.tool import ReferenceRole
from services.mentions.references import KEPT_AFTER, fitting, is_kept, reference_of
from services.mentions.tool_references import Asked
from tests.documents import ARTICLE_ID, NOW, OTHER_TOOL_ID, TOOL_ID, mention, reference, tool


def test_a_day_is_kept_when_it_began_over_thirty_days_ago_and_before_it_is_frozen() -> None:
    assert timedelta(days=30) == KEPT_AFTER
    assert is_kept(date(2026, 1, 21), NOW)
    assert not is_kept(date(2026, 1, 22), NOW), f"it is {NOW}"


def test_a_reference_has_the_data_of_the_mention() -> None:
    said = mention(publisher="Reuters", url="https://reuters.example/1", event_id="story", role="OTHER")
    found = reference_of(said)
    assert (found.source_id, found.source, found.source_identifier) == (said.source_id, "Reuters", said.url)
    assert (found.title, found.published_at) == (said.headline, said.published_at)
    assert (found.role, found.event_id, found.created_at) == ("OTHER", "story", said.created_at)


def test_the_feed_stands_for_an_unknown_publisher_and_the_id_for_a_missing_url() -> None:
    found = reference_of(mention(publisher=None, url=None))
    assert (found.source, found.source_identifier) == (mention().source, mention().source_id)
    assert reference_of(mention(publisher=None, source=None)).source is None


def test_the_id_is_a_uuid_of_tool_and_article() -> None:
    found = reference_id(TOOL_ID, ARTICLE_ID)
    assert str(UUID(found)) == found == reference_id(TOOL_ID, ARTICLE_ID)
    assert len({found, reference_id(OTHER_TOOL_ID, ARTICLE_ID), reference_id(TOOL_ID, "another")}) == 3


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


class TestFitting:
    REFERENCES = tuple(reference(source_id=f"article-{number}") for number in range(5))

    def test_all_fit(self) -> None:
        assert fitting(self.REFERENCES).references == self.REFERENCES
        assert fitting(self.REFERENCES).left_out == 0
        assert fitting(()).references == ()

    def test_the_first_ones_are_kept_and_the_others_counted(self) -> None:
        size = len(self.REFERENCES[0].model_dump_json()) + 1
        found = fitting(self.REFERENCES, 3 * size)
        assert (found.references, found.left_out) == (self.REFERENCES[:3], 2)
        assert fitting(self.REFERENCES, 3 * size - 1).left_out == 3


class TestAsked:
    def test_filters_are_read(self) -> None:
        asked = Asked.of({"role": "OTHER", "since": "2026-02-01T00:00:00Z", "until": "2026-02-02T01:00:00+01:00"})
        assert asked == Asked("OTHER", "2026-02-01T00:00:00Z", "2026-02-02T00:00:00Z")
        assert Asked.of({}) == Asked()

    @pytest.mark.parametrize(
        ("given", "field"),
        [
            ({"role": "other"}, "role"),
            ({"since": "yesterday"}, "since"),
            ({"since": "2026-02-02T00:00:00Z", "until": "2026-02-01T00:00:00Z"}, "until"),
        ],
    )
    def test_what_is_not_allowed_is_refused(self, given: dict[str, str], field: str) -> None:
        with pytest.raises(InvalidInput) as refused:
            Asked.of(given)
        assert refused.value.field == field


def test_a_served_reference_links_to_its_article_while_it_exists() -> None:
    kept: Reference = reference()
    known = tool()
    assert ReferenceResource.of(kept, known, article_exists=True).article_url == f"/api/v1/articles/{ARTICLE_ID}"
    gone = ReferenceResource.of(kept, known, article_exists=False)
    assert (gone.article_url, gone.source_id, "article" in gone.links) == (None, ARTICLE_ID, False)
