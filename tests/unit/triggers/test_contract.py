"""The contract says what the app has and does: no route more, none less."""

import dataclasses
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import azure.functions as func
import pytest
from jsonschema_rs import Draft202012Validator
from openapi_spec_validator import validate
from pydantic import create_model

import function_app
from models.resources.base import Resource, Shape
from models.resources.feeds import FeedResource
from models.resources.tools import ToolResource
from models.values import Value
from tests import resources
from triggers.contract import PROBLEMS, TAGS, Answer, Declared, ListOf, contract, of_app, ok
from triggers.http_operations import collections
from triggers.http_page import contract_file, get_docs, get_openapi, is_browser, start
from triggers.parameters import PAGE, VIEW

NOT_OF_THE_API = {
    *("dashboard/{*path}", "docs/{*path}", "openapi.json", "{nothing:maxlength(0)?}"),
    "mcp",
}
"""Pages, the contract itself, and what language models call by a protocol of their own."""

DOCUMENT: dict[str, Any] = contract(of_app(), reads_are_open=False)


def operations(document: dict[str, Any] = DOCUMENT) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method.upper(), operation


def registered() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Path, method and trigger of each function of the app that is called over HTTP."""
    function_app.app.functions_bindings = None  # else the functions can be listed once in a process only
    for function in function_app.app.get_functions():
        trigger: Any = function.get_trigger()
        if trigger.type == "httpTrigger" and trigger.route not in NOT_OF_THE_API:
            method, *head = [each.value for each in trigger.methods]
            assert head == (["HEAD"] if method == "GET" else [])
            yield f"/api/{trigger.route}", method, trigger.get_dict_repr()


def test_the_contract_is_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"] == "3.1.0"


def test_every_body_and_every_part_of_a_path_has_an_example() -> None:
    """What is sent of them to a running app is in tests/functional/api/test_contract_over_http.py."""
    for path, method, operation in operations():
        parts = [each for each in operation.get("parameters", ()) if each["in"] == "path"]
        assert all("example" in each for each in parts), (method, path)
        for body in operation.get("requestBody", {}).get("content", {}).values():
            assert "example" in body or body["examples"], (method, path)


def test_the_contract_has_the_registered_routes_and_no_others() -> None:
    declared = [(path, method) for path, method, _ in operations()]
    assert sorted(declared) == sorted((path, method) for path, method, _ in registered())


def test_each_operation_has_an_id_a_tag_and_a_summary_of_its_own() -> None:
    found = [operation for _, _, operation in operations()]
    for field in ("operationId", "summary"):
        values = [operation[field] for operation in found]
        assert len(values) == len(set(values)), field
    assert {tag for operation in found for tag in operation["tags"]} == set(TAGS)


def test_the_parameters_of_a_path_are_declared_in_their_order() -> None:
    for path, _, operation in operations():
        named = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "path"]
        assert named == re.findall(r"\{(\w+)\}", path), path


def test_keys_are_wanted_where_the_app_asks_for_them() -> None:
    levels = {(path, method): trigger["authLevel"].value for path, method, trigger in registered()}
    for path, method, operation in operations():
        wants_key = levels[path, method] == "function"
        assert bool(operation["security"]) == wants_key, path
        assert ("401" in operation["responses"]) == wants_key, path
        assert all("managementKey" in each for each in operation["security"]) or method == "GET", path


def test_open_reads_need_no_key_and_changes_still_do() -> None:
    opened = {
        operation["operationId"]: operation for _, _, operation in operations(contract(of_app(), reads_are_open=True))
    }
    assert opened["get_tool"]["security"] == []
    assert "401" not in opened["get_tool"]["responses"]
    assert opened["add_tool"]["security"] == [
        {"functionKey": [], "managementKey": []},
        {"functionKeyInQuery": [], "managementKey": []},
    ]


def test_every_operation_says_how_it_answers_and_how_it_fails() -> None:
    for path, method, operation in operations():
        statuses = set(operation["responses"])
        assert any(status.startswith("2") for status in statuses), path
        assert {"500", "503"} <= statuses, path
        assert ("413" in statuses) == ("415" in statuses) == ("requestBody" in operation), path
        assert ("412" in statuses) == (method != "GET"), path
        for status, response in operation["responses"].items():
            if "$ref" not in response and status != "401":
                assert response["description"], (path, status)
                assert "Cache-Control" in response["headers"], (path, status)


def test_every_problem_has_one_shape() -> None:
    for status in PROBLEMS.keys() - {401}:
        content = DOCUMENT["components"]["responses"][f"Problem{status}"]["content"]
        assert content == {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}}


def subclasses(kind: type[Any]) -> Iterator[type[Any]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


KEEP_UNKNOWN = {each.__name__ for each in subclasses(Value)}
"""Parts of stored documents: in an upgrade of several instances, a later version may have added fields to them."""


def open_objects(schema: Any, at: str) -> Iterator[str]:
    """The objects within a schema of which the contract does not say all fields. Marked internals may be open."""
    if isinstance(schema, list):
        for each in schema:
            yield from open_objects(each, at)
    if not isinstance(schema, dict) or schema.get("x-view") == "full":
        return
    kind = schema.get("type", ())
    is_object = kind == "object" or (isinstance(kind, list) and "object" in kind)
    if is_object and "patternProperties" not in schema and schema.get("additionalProperties", True) is True:
        yield at
    for keyword, value in schema.items():
        if keyword == "properties":
            for name, each in value.items():
                yield from open_objects(each, f"{at}.{name}")
        elif keyword not in ("example", "examples", "enum", "const", "default", "oneOf", "if", "then", "else"):
            yield from open_objects(value, at)  # those four restrict the object that they stand in


def test_every_object_of_the_contract_has_no_other_fields_than_it_says() -> None:
    found = {*open_objects(DOCUMENT["paths"], "paths")}
    for name, schema in DOCUMENT["components"]["schemas"].items():
        found |= {*open_objects(schema, name)}
    assert {name for name in found if name not in KEEP_UNKNOWN} == set()
    assert found, "parts of stored documents are open"


def test_an_open_object_is_found_wherever_it_is() -> None:
    closed = {"type": "object", "properties": {}, "additionalProperties": False}
    within = {"type": "array", "items": {"anyOf": [{"type": ["object", "null"]}, closed]}}
    by_name = {"type": "object", "additionalProperties": {"type": "object", "properties": {}}}
    internal = {"type": "object", "x-view": "full"}
    schema = {**closed, "properties": {"a": within, "b": by_name, "c": internal, "d": closed}}
    assert sorted(open_objects(schema, "S")) == ["S.a", "S.b"]


CONDITIONS = ("allOf", "anyOf", "oneOf", "if", "then", "else")
"""Keywords of JSON Schema whose schemas restrict properties that the object beside them describes."""


def objects(schema: Any, at: str, around: frozenset[str] = frozenset()) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The properties of each object within a schema, with where it is; and whether they only restrict known ones."""
    if isinstance(schema, list):
        for each in schema:
            yield from objects(each, at, around)
    if not isinstance(schema, dict):
        return
    properties = schema.get("properties")
    if isinstance(properties, dict):
        yield at, properties, bool(around) and around.issuperset(properties)
        for name, each in properties.items():
            yield from objects(each, f"{at}.{name}")
    for keyword, value in schema.items():
        if keyword not in ("properties", "example", "examples", "enum", "const", "default"):
            yield from objects(
                value, at, frozenset(properties or ()) | around if keyword in CONDITIONS else frozenset()
            )


def is_described(schema: Mapping[str, Any], document: Mapping[str, Any] = DOCUMENT) -> bool:
    """By itself, or by the schema to which it refers."""
    named = document["components"]["schemas"].get(schema.get("$ref", "").rpartition("/")[2], {})
    return bool(schema.get("description") or named.get("description"))


def undescribed(document: Mapping[str, Any]) -> list[str]:
    found = [*objects(document["components"]["schemas"], ""), *objects(document["paths"], "paths")]
    return [
        f"{at}.{name}: {', '.join(properties)}"
        for at, properties, only_restricts in found
        for name, schema in properties.items()
        if not only_restricts and not is_described(schema, document)
    ]


def test_every_field_of_every_request_and_answer_is_described() -> None:
    assert undescribed(DOCUMENT) == []
    assert sum(len(properties) for _, properties, _ in objects(DOCUMENT["components"], "")) > 1000


def test_a_field_without_a_description_is_found_wherever_it_is() -> None:
    said, silent = {"type": "string", "description": "A word."}, {"type": "string"}
    within = {"type": "array", "description": "Several.", "items": {"properties": {"b": silent}}}
    conditions = {"properties": {"c": said}, "oneOf": [{"properties": {"c": silent}}, {"properties": {"d": silent}}]}
    schemas = {"Said": {"description": "Said."}, "A": {"properties": {"a": within}}, "B": conditions}
    document = {"components": {"schemas": {**schemas, "C": {"properties": {"e": {"$ref": "#/Said"}}}}}, "paths": {}}
    assert undescribed(document) == [".a.b: b", ".d: d"]


def test_every_parameter_is_described() -> None:
    for path, _, operation in operations():
        assert all(each["description"] for each in operation.get("parameters", ())), path


def test_no_description_speaks_of_a_name_that_only_stored_documents_have() -> None:
    stored = {stored for kind in (FeedResource, ToolResource) for stored in kind.STORED_AS.values()}
    assert stored == {"feed_url", "priority_score", "primary_name"}
    assert [name for name in stored if name in json.dumps(DOCUMENT)] == []


def test_two_shapes_of_one_name_are_refused() -> None:
    def endpoint(route: str, shape: type[Shape] | ListOf) -> Declared:
        return dataclasses.replace(of_app()[0], route=route, parameters=PAGE, answers=[ok(shape)])

    one = create_model("Thing", __base__=Shape, name=(str, "a"))
    other = create_model("Thing", __base__=Shape, size=(int, 1))
    contract([endpoint("a", one), endpoint("b", ListOf("Things", one))], reads_are_open=True)
    with pytest.raises(ValueError, match="two schemas have the name Thing"):
        contract([endpoint("a", one), endpoint("b", other)], reads_are_open=True)


def test_an_answer_without_a_body_has_no_content() -> None:
    declared = dataclasses.replace(
        of_app()[0], route="x", method="DELETE", parameters=(), answers=[Answer(204, "Gone.")]
    )
    responses = contract([declared], reads_are_open=True)["paths"]["/api/v1/x"]["delete"]["responses"]
    assert "content" not in responses["204"]


def request(path: str = "", **headers: str) -> func.HttpRequest:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    url = f"http://localhost/api/{path}"
    return func.HttpRequest("GET", url, headers=named, route_params={"path": path}, body=b"")


async def test_the_contract_is_served_with_an_etag_and_made_once() -> None:
    answer = await get_openapi(request())
    assert (answer.status_code, answer.mimetype) == (200, "application/json")
    assert json.loads(answer.get_body())["paths"].keys() == DOCUMENT["paths"].keys()
    assert contract_file() is contract_file()
    again = await get_openapi(request(If_None_Match=answer.headers["ETag"]))
    assert (again.status_code, again.get_body()) == (304, b"")


async def test_the_documentation_is_served_with_its_files_and_nothing_else() -> None:
    page = await get_docs(request())
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert "unsafe" not in page.headers["Content-Security-Policy"]
    linked = re.findall(r'(?:src|href)="/api/docs/([^"]+)"', page.get_body().decode())
    assert linked
    for path in (*linked, "reference/read.js", "dashboard/lib/keys.js"):
        assert (await get_docs(request(path))).status_code == 200, path
    for path in ("../host.json", "reference/none.js", "host.json"):
        assert (await get_docs(request(path))).status_code == 404, path
    assert not re.search(r"<script(?![^>]* src=)|<style| style=| on\w+=|//[a-z0-9-]+\.[a-z]", page.get_body().decode())


@pytest.mark.parametrize(
    ("accept", "target"),
    [
        ("text/html,application/xhtml+xml,*/*;q=0.8", "/api/dashboard"),
        ("*/*", "/api/openapi.json"),
        ("application/json", "/api/openapi.json"),
        ("", "/api/openapi.json"),
    ],
)
async def test_a_browser_is_led_to_the_dashboard_and_a_program_to_the_contract(accept: str, target: str) -> None:
    answer = await start(request(Accept=accept))
    assert (answer.status_code, answer.headers["Location"]) == (302, target)
    assert is_browser(accept) == (target == "/api/dashboard")


def test_a_body_may_be_left_out_only_if_an_empty_object_is_allowed() -> None:
    bodies = [(each, DOCUMENT["components"]["schemas"]) for _, _, each in operations() if "requestBody" in each]
    for operation, schemas in bodies:
        schema = operation["requestBody"]["content"].get("application/json", {}).get("schema")
        if schema is not None:
            whole = {**schemas[schema["$ref"].rpartition("/")[2]], "components": DOCUMENT["components"]}
            allows_nothing = Draft202012Validator(whole).is_valid({})
            assert operation["requestBody"]["required"] != allows_nothing, operation["operationId"]


def test_a_field_that_some_endpoints_add_has_no_default() -> None:
    tool = DOCUMENT["components"]["schemas"]["Tool"]["properties"]
    assert tool["reanalysis_offered"]["type"] == "boolean"
    assert "default" not in tool["reanalysis_offered"]


def test_every_view_is_the_same_parameter() -> None:
    found = [
        each for _, _, operation in operations() for each in operation.get("parameters", ()) if each["name"] == "view"
    ]
    assert found
    assert all(each == VIEW.described() for each in found)


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
