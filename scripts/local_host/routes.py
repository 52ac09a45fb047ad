"""Routes, as far as functions use them: `{name}` stands for a segment, `{*name}` for the rest of the path. Pure.

Azure also has constraints, defaults and optional parameters; here the start is refused for them.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar
from urllib.parse import unquote

T = TypeVar("T")

_NOTHING = re.compile(r"\{[a-z]+:maxlength\(0\)\?\}")
"""Azure takes an empty template for the function's name, so that this one stands for the prefix alone."""
_PARAMETER = re.compile(r"\{(\*{0,2})([A-Za-z_][A-Za-z0-9_]*)\}")


@dataclass(frozen=True, slots=True)
class Route:
    """`template` includes the prefix. `methods` is None for every method."""

    template: str
    methods: frozenset[str] | None
    pattern: re.Pattern[str]
    names: tuple[str, ...]

    def takes(self, method: str) -> bool:
        return self.methods is None or method in self.methods

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters, or None. `path` is decoded and has no slash at either end."""
        found = self.pattern.fullmatch(path)
        if found is None:
            return None
        return {name: text for name, text in zip(self.names, found.groups(), strict=True) if text}


def parse_route(prefix: str, template: str, methods: Sequence[str] | None) -> Route:
    """Raises ValueError, with what is wrong."""
    whole = "/".join(part for part in (prefix, template.strip("/")) if part)
    pattern, names = "", list[str]()
    for index, segment in enumerate(each for each in whole.split("/") if not _NOTHING.fullmatch(each)):
        slash, found = "/" if index else "", _PARAMETER.fullmatch(segment)
        if found is None and ("{" in segment or "}" in segment):
            raise ValueError(f"in the route {whole!r}, this host knows only {{name}} and {{*name}} as whole segments")
        if found is not None:
            names.append(found[2])
        if found is None:
            pattern += slash + re.escape(segment)
        else:
            pattern += f"(?:{slash}(.*))?" if found[1] else f"{slash}([^/]+)"
    if len({name.lower() for name in names}) != len(names):
        raise ValueError(f"the route {whole!r} names a parameter twice")
    taken = None if methods is None else frozenset(method.upper() for method in methods)
    return Route(whole, taken, re.compile(pattern, re.IGNORECASE), tuple(names))


def router(routed: Iterable[tuple[T, Route]]) -> Callable[[str, str], tuple[T, dict[str, str]] | None]:
    """Finds by method and path the first whose route takes both, with the parameters in the path. Remembers what it
    found for the latest requests: an app has a hundred routes, and few of them are asked for again and again."""
    routes = list(routed)

    @functools.lru_cache(500)
    def find(method: str, raw_path: str) -> tuple[T, dict[str, str]] | None:
        path = routed_path(raw_path)
        for target, route in routes:
            if route.takes(method) and (parameters := route.match(path)) is not None:
                return target, parameters
        return None

    return find


def routed_path(raw_path: str) -> str:
    """A request's path as it is matched: decoded but for %2F, without slashes at its ends."""
    if "%" in raw_path:
        raw_path = unquote(re.sub("%2f", "%252F", raw_path, flags=re.IGNORECASE))
    return raw_path.strip("/")
