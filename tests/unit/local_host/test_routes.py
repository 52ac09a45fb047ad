"""Which paths a route matches, and which templates are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.local_host.routes import parse_route, routed_path


def matched(template: str, path: str) -> dict[str, str] | None:
    return parse_route("api", template, None).match(routed_path(path))


@pytest.mark.parametrize(
    ("template", "path", "expected"),
    [
        ("v1/tools", "/api/v1/tools", {}),
        ("v1/tools", "/API/V1/Tools/", {}),
        ("v1/tools", "/api/v1/tools/x", None),
        ("/v1/tools/", "/api/v1/tools", {}),
        ("v1/tools/{tool}", "/api/v1/tools/C%23", {"tool": "C#"}),
        ("v1/tools/{tool}", "/api/v1/tools/a%2Fb", {"tool": "a%2Fb"}),
        ("v1/tools/{tool}", "/api/v1/tools/", None),
        ("v1/tools/{tool}", "/api/v1/tools/a/b", None),
        ("v1/tools/{tool}/sentiment", "/api/v1/tools/x/sentiment", {"tool": "x"}),
        ("docs/{*path}", "/api/docs/a/b/c", {"path": "a/b/c"}),
        ("docs/{*path}", "/api/docs", {}),
        ("docs/{*path}", "/api/docsx", None),
        ("{nothing:maxlength(0)?}", "/api", {}),
        ("{nothing:maxlength(0)?}", "/api/x", None),
    ],
)
def test_a_template_matches_what_the_real_host_matches(
    template: str, path: str, expected: dict[str, str] | None
) -> None:
    assert matched(template, path) == expected


def test_a_template_that_is_wrong_or_not_known_here_is_refused() -> None:
    for template in ("{", "}", "{}", "{a", "{a}/{A}", "{a:int}", "{a?}", "{a=b}", "x{a}", "{a}.{b}"):
        with pytest.raises(ValueError, match=r"route"):
            parse_route("api", template, None)


def test_a_route_without_methods_takes_all_methods() -> None:
    assert parse_route("", "x", None).takes("PURGE")
    route = parse_route("", "x", ["get", "POST"])
    assert [method for method in ("GET", "POST", "HEAD", "PUT") if route.takes(method)] == ["GET", "POST"]


@given(st.text(min_size=1).filter(lambda text: "/" not in text and "\n" not in text))
def test_a_parameter_takes_any_text_without_a_slash(text: str) -> None:
    assert parse_route("", "x/{value}/y", None).match(f"x/{text}/y") == {"value": text}
