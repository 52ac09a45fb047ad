"""Routes, their constraints, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.local_host.routes import parse_route, routed_path

GUID = "936DA01F-9ABD-4d9d-80C7-02AF85C822A8"


def matched(template: str, path: str) -> dict[str, str] | None:
    return parse_route("api", template, None).match(routed_path(path))


@pytest.mark.parametrize(
    ("template", "path", "expected"),
    [
        ("v1/tools", "/api/v1/tools", {}),
        ("v1/tools", "/API/V1/Tools/", {}),
        ("v1/tools", "/api/v1/tools/x", None),
        ("v1/tools", "/v1/tools", None),
        ("/v1/tools/", "/api/v1/tools", {}),
        ("v1/tools/{tool}", "/api/v1/tools/C%23", {"tool": "C#"}),
        ("v1/tools/{tool}", "/api/v1/tools/a%2Fb", {"tool": "a%2Fb"}),
        ("v1/tools/{tool}", "/api/v1/tools/%E4%BD%A0", {"tool": "你"}),
        ("v1/tools/{tool}", "/api/v1/tools/", None),
        ("v1/tools/{tool}", "/api/v1/tools/a/b", None),
        ("v1/tools/{tool}/sentiment", "/api/v1/tools/x/sentiment", {"tool": "x"}),
        ("files/{name}.{ending}", "/api/files/a.b.txt", {"name": "a.b", "ending": "txt"}),
        ("files/v{n:int}", "/api/files/v12", {"n": "12"}),
        ("{a}/{b?}", "/api/x", {"a": "x"}),
        ("{a}/{b?}", "/api/x/y", {"a": "x", "b": "y"}),
        ("{a}/{b=z}", "/api/x", {"a": "x", "b": "z"}),
        ("{a}/{b=z}", "/api/x/y", {"a": "x", "b": "y"}),
        ("{a}/{b:int=5}", "/api/x", {"a": "x", "b": "5"}),
        ("docs/{*path}", "/api/docs/a/b/c", {"path": "a/b/c"}),
        ("docs/{**path}", "/api/docs", {}),
        ("docs/{*path}", "/api/docsx", None),
    ],
)
def test_a_template_matches_what_the_real_host_matches(
    template: str, path: str, expected: dict[str, str] | None
) -> None:
    assert matched(template, path) == expected


@pytest.mark.parametrize(
    ("constraint", "good", "bad"),
    [
        ("int", ["0", "-7", "+5", "2147483647"], ["", "1.5", "x", "2147483648", "٣"]),
        ("long", ["9223372036854775807"], ["9223372036854775808"]),
        ("alpha", ["abc", "Z"], ["a1", "é", "a-b"]),
        ("bool", ["true", "False"], ["1", "yes"]),
        ("decimal", ["1", "-1.5", ".5"], ["1e3", "x"]),
        ("double", ["1", "1e3", "-.5E-2"], ["x", "1e"]),
        ("float", ["1.0"], ["x"]),
        ("guid", [GUID, GUID.replace("-", ""), f"{{{GUID}}}", f"({GUID})"], ["x", GUID[:-1], f"{{{GUID}", f"{GUID}0"]),
        ("datetime", ["2026-02-21", "2026-02-21T20:00:00"], ["x", "2026-13-01"]),
        ("length(3)", ["abc"], ["ab", "abcd"]),
        ("length(2,3)", ["ab", "abc"], ["a", "abcd"]),
        ("minlength(2)", ["ab", "abc"], ["a"]),
        ("maxlength(2)", ["a", "ab"], ["abc"]),
        ("min(5)", ["5", "6"], ["4", "x"]),
        ("max(5)", ["5", "-6"], ["6", "x"]),
        ("range(5,7)", ["5", "7"], ["4", "8", "x"]),
        ("regex(^[a-f]{{2}}$)", ["ab", "FE"], ["a", "abc", "xy"]),
        ("regex(^\\d+$)", ["12"], ["x"]),
        ("required", ["x"], []),
        ("alpha:minlength(2)", ["ab"], ["a", "a1"]),
    ],
)
def test_a_constraint_accepts_the_values_that_aspnet_accepts(constraint: str, good: list[str], bad: list[str]) -> None:
    route = parse_route("", f"x/{{value:{constraint}}}", None)
    assert [text for text in good if route.match(f"x/{text}") != {"value": text}] == []
    assert [text for text in bad if route.match(f"x/{text}") is not None] == []


@pytest.mark.parametrize(
    "template",
    [
        "{",
        "}",
        "{}",
        "{a",
        "a}",
        "{a}/{A}",
        "{a:nothing}",
        "{a:int(3)}",
        "{a:length}",
        "{a:min(x)}",
        "{a:regex([)}",
        "x{a?}",
        "{a?}.x",
    ],
)
def test_a_template_that_is_wrong_is_refused(template: str) -> None:
    with pytest.raises(ValueError, match=r"route"):
        parse_route("api", template, None)


def test_a_route_without_methods_takes_all_methods() -> None:
    assert parse_route("", "x", None).takes("PURGE")
    route = parse_route("", "x", ["get", "POST"])
    assert [method for method in ("GET", "POST", "HEAD", "PUT") if route.takes(method)] == ["GET", "POST"]


@given(st.lists(st.text("abcdefgh-_~.0123456789", min_size=1), min_size=1, max_size=5))
def test_a_template_of_plain_segments_matches_just_itself(segments: list[str]) -> None:
    route = parse_route("", "/".join(segments), None)
    assert route.match("/".join(segments)) == {}
    assert route.match("/".join([*segments, "x"])) is None
    assert route.match("/".join(segments[:-1])) is None


@given(st.text(min_size=1).filter(lambda text: "/" not in text))
def test_a_parameter_takes_any_text_without_a_slash(text: str) -> None:
    assert parse_route("", "x/{value}/y", None).match(f"x/{text}/y") in ({"value": text}, None)
    assert "\n" in text or parse_route("", "x/{value}/y", None).match(f"x/{text}/y") is not None
