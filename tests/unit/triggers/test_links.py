"""Every link of a resource leads to an endpoint."""

import re

import pytest

import function_app
from models.resources.base import Resource
from tests import resources
from triggers.contract import of_app
from triggers.http_operations import collections

ROUTES = [re.compile("/api/v1/" + re.sub(r"{[^}]+}", "[^/]+", each.route)) for each in of_app() if each.method == "GET"]
LINKED: dict[str, Resource] = {
    **{kind: make("full") for kind, (_, make) in resources.EACH.items()},
    "Reference": resources.reference(),
    "member": resources.member(),
}


def leads_somewhere(link: str) -> bool:
    path, _, query = link.partition("?")
    known = {parameter.name for each in of_app() for parameter in each.parameters if parameter.place == "query"}
    return any(each.fullmatch(path) for each in ROUTES) and all(
        pair.partition("=")[0] in known for pair in query.split("&") if pair
    )


def test_there_is_an_app() -> None:
    assert function_app.app is not None
    assert len(ROUTES) > 30


@pytest.mark.parametrize("kind", LINKED)
def test_each_resource_has_links_and_all_lead_to_an_endpoint(kind: str) -> None:
    shown = LINKED[kind].shown()["links"]
    assert shown
    assert [name for name, link in shown.items() if not leads_somewhere(link)] == []


def test_the_collections_are_all_that_can_be_read_without_an_id() -> None:
    found = collections()
    assert {"tools", "feeds", "articles", "stories", "signals", "runs", "quarantine", "hosts"} <= found.keys()
    assert "history" not in found, "it needs the parameter `tools`"
    outside = {"self", "openapi", "docs", "dashboard", "mcp"}
    assert [name for name, link in found.items() if name not in outside and not leads_somewhere(link)] == []


def test_a_link_that_leads_nowhere_is_found() -> None:
    assert not leads_somewhere("/api/v1/toys/1")
    assert not leads_somewhere("/api/v1/articles?colour=red")
