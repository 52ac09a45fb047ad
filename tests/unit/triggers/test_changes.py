"""What the body of a PATCH changes: docs/api.md, conventions."""

import json
from typing import Any

import azure.functions as func
import pytest

from models.errors import InvalidInput
from models.request import Request
from services.feeds.form import FeedChange
from services.tools.form import ToolChange
from tests import resources
from triggers.http_codec import SentChange, sent_change

CHANGES = [pytest.param(FeedChange, "Feed", id="feed"), pytest.param(ToolChange, "Tool", id="tool")]


def sent(body: dict[str, Any], declared: type[Request]) -> SentChange:
    content = {"Content-Type": "application/json"}
    return sent_change(func.HttpRequest("PATCH", "/", headers=content, body=json.dumps(body).encode()), declared)


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_an_empty_body_changes_nothing_and_is_not_refused(declared: type[Request], kind: str) -> None:
    assert sent({}, declared).fields == {}


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_a_resource_that_was_read_can_be_sent_back(declared: type[Request], kind: str) -> None:
    shown = resources.EACH[kind][1]("full").shown()
    assert set(sent(shown, declared).fields) == declared.model_fields.keys() & set(shown)


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_a_body_with_nothing_that_can_be_changed_is_refused_with_what_can_be(
    declared: type[Request], kind: str
) -> None:
    with pytest.raises(InvalidInput, match="cannot be changed; what can be changed: ") as refused:
        sent({"created_at": "2026-02-21T20:00:00Z", "links": {}}, declared)
    assert refused.value.field == "created_at, links"


@pytest.mark.parametrize(("declared", "kind"), CHANGES)
def test_a_field_that_the_resource_does_not_have_is_refused_by_its_name(declared: type[Request], kind: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        sent({"nmae": "x"}, declared)
    assert refused.value.field == "nmae"
