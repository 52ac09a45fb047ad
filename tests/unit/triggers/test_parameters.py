"""A parameter is declared once: what is declared is checked, and is what the contract says."""

from typing import Any

import azure.functions as func
import pytest

from models.errors import InvalidInput
from triggers.parameters import (
    DEFAULT_LIMIT,
    LIMIT,
    MAX_LIMIT,
    PAGE,
    Parameter,
    check_query,
    flag,
    given_of,
    maybe_flag,
    maybe_one_of,
    maybe_whole,
    one_of,
    page_of,
    parameters_of,
    text,
    time,
    whole_number,
)


def request(query: str = "", /, **params: str) -> func.HttpRequest:
    return func.HttpRequest("GET", f"http://localhost/api/v1/x?{query}", params=params, body=b"")


def with_header(name: str, text: str) -> func.HttpRequest:
    return func.HttpRequest("GET", "http://localhost/api/v1/x", headers={name: text}, body=b"")


HOURS = Parameter[str | None]("hours", "Hours.", {"type": "integer", "enum": [1, 24]}, None)
LAYER = one_of("layer", ("canonical", "raw"), "Which layer.", "canonical")


@pytest.mark.parametrize("given", ["0", "501", "1.5", "", " 7", "x", True, 1.0, "9" * 30, "٣", [1], {}])
def test_a_whole_number_out_of_bounds_or_form_is_refused(given: Any) -> None:
    with pytest.raises(InvalidInput, match="limit: a whole number from 1 to 500, not"):
        whole_number(given, "limit", 1, 500)


def test_a_page_has_a_default_limit_and_keeps_the_cursor_as_it_came() -> None:
    assert page_of(request()) == (50, None)
    assert page_of(request(limit="500", cursor="abc")) == (500, "abc")
    assert (DEFAULT_LIMIT, MAX_LIMIT) == (50, 500)


def test_a_choice_outside_the_list_is_refused_with_the_list() -> None:
    assert LAYER.of(request()) == "canonical"
    with pytest.raises(InvalidInput, match="layer: one of canonical, raw, not 'cooked'"):
        LAYER.of(request(layer="cooked"))


@pytest.mark.parametrize(
    ("parameter", "given", "value"),
    [
        (LAYER, "raw", "raw"),
        (maybe_one_of("state", ("open",), "A state."), "open", "open"),
        (HOURS, "24", "24"),
        (maybe_whole("days", 1, 30, "Days."), "7", 7),
        (flag("quiet", "Quiet ones too."), "true", True),
        (maybe_flag("enabled", "Enabled ones."), "false", False),
        (text("tag", "A tag.", longest=3), "abc", "abc"),
        (time("since", "From then on."), "2026-02-21T20:00:00 01:00", "2026-02-21T20:00:00 01:00"),
    ],
)
def test_a_parameter_reads_what_it_declares(parameter: Parameter[Any], given: str, value: Any) -> None:
    assert parameter.of(request(**{parameter.name: given})) == value


@pytest.mark.parametrize(
    ("parameter", "given"),
    [
        (LAYER, ""),
        (maybe_one_of("state", ("open",), "A state."), "OPEN"),
        (HOURS, "024"),
        (maybe_whole("days", 1, 30, "Days."), "31"),
        (flag("quiet", "Quiet ones too."), "1"),
        (text("tag", "A tag.", longest=3), "abcd"),
        (text("tag", "A tag.", longest=3), ""),
        (time("since", "From then on."), "2026-02-21"),
    ],
)
def test_a_parameter_refuses_what_it_does_not_declare(parameter: Parameter[Any], given: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        check_query(request(**{parameter.name: given}), [parameter])
    assert caught.value.field == parameter.name


def test_a_parameter_that_is_needed_says_what_it_is() -> None:
    tools = text("tools", "Names of tools.", is_required=True)
    with pytest.raises(InvalidInput, match=r"tools: is needed: names of tools\."):
        tools.of(request())


def test_what_the_contract_says_is_what_is_checked() -> None:
    assert LAYER.described() == {
        "name": "layer",
        "in": "query",
        "description": "Which layer.",
        "schema": {"type": "string", "enum": ["canonical", "raw"], "default": "canonical"},
    }
    schema = LIMIT.described()["schema"]
    assert schema == {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT}
    (tool,) = parameters_of("tools/{tool}/sentiment")
    assert (tool.described()["in"], tool.described()["required"]) == ("path", True)


def test_a_header_is_read_in_any_case_and_is_no_query_parameter() -> None:
    tag = Parameter[str | None]("If-None-Match", "The ETag.", {"type": "string"}, None, example='"a"', place="header")
    assert tag.of(with_header("if-none-match", '"a"')) == '"a"'
    assert tag.described()["example"] == '"a"'
    with pytest.raises(InvalidInput, match="none here"):
        check_query(request(**{"If-None-Match": "x"}), [tag])


def test_the_given_ones_of_several_parameters() -> None:
    assert given_of(request(limit="7", other="x"), PAGE) == {"limit": "7"}


def test_known_query_parameters_and_a_function_key_are_accepted() -> None:
    check_query(request("limit=1&code=x&clientId=y", limit="1", code="x", clientId="y"), PAGE)
    check_query(request("code=x&code=y", code="x,y"), ())


@pytest.mark.parametrize(
    ("query", "known", "refusal"),
    [
        ("limits=1", PAGE, "limits: no such query parameter; there are limit, cursor"),
        ("limit=1", (), "limit: none here"),
        ("limit=1&limit=2", (LIMIT,), "limit: at most once"),
        ("limit=&limit=2", (LIMIT,), "limit: at most once"),
    ],
)
def test_an_unknown_or_repeated_query_parameter_is_refused(
    query: str, known: tuple[Parameter[Any], ...], refusal: str
) -> None:
    name = query.partition("=")[0]
    with pytest.raises(InvalidInput, match=refusal):
        check_query(request(query, **{name: "1"}), known)
