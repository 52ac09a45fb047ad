"""What the fields of a document must be together, which steps it takes, and its stable product id."""

from __future__ import annotations

from typing import Any
from uuid import NAMESPACE_URL, uuid5

import pytest

from tests.documents import SHA256, document, file_object


def test_a_document_and_its_files_have_the_product_id_of_their_article() -> None:
    expected = str(uuid5(NAMESPACE_URL, "toolpulse:document:dedup:1"))
    assert document(source_id="dedup:1").data_product_id == expected
    assert file_object(source_id="dedup:1").to_document()["data_product_id"] == expected


QUARANTINED = {"validation_status": "QUARANTINED", "ttl_timestamp": None}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"locators": ()}, "at least 1 item"),
        ({**QUARANTINED, "quarantine_reason_code": "OTHER"}, "a quarantined document must have"),
        ({**QUARANTINED, "manual_review_status": "PENDING"}, "a quarantined document must have"),
        ({"validation_status": "VALID", "acquisition_status": "ACQUIRED"}, "a valid document must be ACQUIRED"),
        ({"validation_status": "VALID", "sha256": SHA256}, "a valid document must be ACQUIRED"),
        ({"raw_archive_container": "archive"}, "must be there together"),
        ({"raw_archive_key": "key"}, "must be there together"),
    ],
)
def test_a_document_with_impossible_fields_is_refused(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        document(**changes)
