"""What models/stored.py does for every kind of document, shown on some of them."""

from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidTransition, UnreadableDocument
from models.stored import ScoredDocument, StoredDocument
from tests import documents
from tests.documents import NOW, article, feed, tool

LATER = NOW + timedelta(minutes=5)


def test_a_field_that_is_null_is_not_stored_and_reads_back_as_null() -> None:
    stored = article(event_id=None).to_document()
    assert "event_id" not in stored
    assert type(article()).from_document(stored).event_id is None


def test_a_default_lifetime_is_not_given_to_a_stored_document_that_has_none() -> None:
    stored = documents.quarantined().to_document()
    assert "ttl_timestamp" not in stored
    assert type(documents.quarantined()).from_document(stored).ttl_timestamp is None


def test_fields_of_a_later_version_are_kept_and_written_back() -> None:
    stored = tool().to_document() | {"schema_version": "2", "colour": {"hue": None}}
    assert type(tool()).from_document(stored).changed(LATER).to_document() == stored | {
        "updated_at": "2026-02-21T20:05:00Z"
    }


def test_a_document_without_a_version_is_read_as_the_first() -> None:
    stored = tool().to_document()
    del stored["schema_version"]
    assert type(tool()).from_document(stored).schema_version == "1"


def test_an_unreadable_document_is_named_by_its_key() -> None:
    with pytest.raises(UnreadableDocument) as raised:
        type(feed()).from_document(feed().to_document() | {"enabled": "perhaps"})
    assert (raised.value.kind, raised.value.key) == ("Feed", f"{feed().partition} / {feed().id}")
    assert raised.value.why.startswith("enabled: ")


def test_an_unreadable_document_names_three_of_its_faults() -> None:
    wrong = dict.fromkeys(("status", "headline", "tags", "canonical"), 7)
    with pytest.raises(UnreadableDocument) as raised:
        type(article()).from_document(article().to_document() | wrong)
    faults = raised.value.why.split("; ")
    assert [fault.partition(":")[0] for fault in faults] == ["headline", "canonical", "status"]
    assert faults[0] == "headline: Input should be a valid string"


def test_a_fault_within_a_field_is_named_by_its_path() -> None:
    stored = article().to_document()
    with pytest.raises(UnreadableDocument) as raised:
        type(article()).from_document(stored | {"canonical": stored["canonical"] | {"headline": 7}})
    assert raised.value.why.startswith("canonical.headline: ")


def test_the_id_is_no_field_of_a_document_that_was_read() -> None:
    assert "id" not in type(tool()).from_document(tool().to_document()).shown()


def test_a_kind_of_document_has_a_partition_and_an_id_of_its_own() -> None:
    bare = StoredDocument(created_at=NOW, entity_type="Bare")
    with pytest.raises(AttributeError):
        _ = bare.partition
    with pytest.raises(AttributeError):
        _ = bare.id


def test_a_change_obeys_the_state_machines() -> None:
    with pytest.raises(InvalidTransition):
        tool(status="MERGED", merged_into=documents.OTHER_TOOL_ID).changed(LATER, status="DEPRECATED", merged_into=None)


def test_a_document_gets_the_etag_of_its_write() -> None:
    written = tool().with_etag("2")
    assert (written.stored_etag, tool().stored_etag) == ("2", None)
    assert written == tool()


def test_documents_of_other_kinds_or_fields_are_not_equal() -> None:
    assert tool() != feed()
    assert tool() != tool().changed(LATER)


UNSCORED: dict[str, Any] = {"sentiment": None, "score": None, "polarity": None, "unscored_reason": "LANGUAGE"}


@pytest.mark.parametrize(
    ("sentiment", "polarity"),
    [("positive", 0.0001), ("positive", 1.0), ("negative", -0.0001), ("negative", -1.0), ("neutral", 0.0)],
)
def test_a_label_with_a_polarity_that_agrees_is_taken(sentiment: str, polarity: float) -> None:
    for document in (documents.mention, documents.article):
        scored: ScoredDocument = document(sentiment=sentiment, polarity=polarity, score=0.5)
        assert (scored.is_scored, scored.polarity) == (True, polarity)


@pytest.mark.parametrize(
    ("sentiment", "polarity"),
    [("positive", 0.0), ("positive", -0.1), ("negative", 0.0), ("negative", 0.1), ("neutral", 0.1), ("neutral", -0.1)],
)
def test_a_label_that_its_polarity_contradicts_is_refused(sentiment: str, polarity: float) -> None:
    for document in (documents.mention, documents.article):
        with pytest.raises(ValueError, match="polarity must be above 0 for positive, below 0 for negative, 0 for neu"):
            document(sentiment=sentiment, polarity=polarity, score=0.5)


@pytest.mark.parametrize(
    "changes", [{"score": 0.5}, {"polarity": 0.0}, {"sentiment": "neutral", "score": 0.5, "polarity": 0.0}]
)
def test_an_unscored_document_has_no_sentiment_score_or_polarity(changes: dict[str, Any]) -> None:
    for document in (documents.mention, documents.article):
        assert not document(**UNSCORED).is_scored
        with pytest.raises(ValueError, match="must be null"):
            document(**{**UNSCORED, **changes})


def test_a_mention_is_scored_or_says_why_not() -> None:
    for changes in ({**UNSCORED, "unscored_reason": None}, {"sentiment": "neutral", "score": 0.5, "polarity": None}):
        with pytest.raises(ValueError, match="a sentiment with its polarity, or an unscored_reason"):
            documents.mention(**changes)
    with pytest.raises(ValueError, match="LANGUAGE"):
        documents.mention(**{**UNSCORED, "unscored_reason": "TIRED"})
