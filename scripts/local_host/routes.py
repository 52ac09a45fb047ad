"""Routes as ASP.NET Core reads them, as far as functions use them. Pure.

Optional and default parameters stand for a whole segment; a segment may otherwise mix text and parameters.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from urllib.parse import unquote

_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)")
_FLOAT = re.compile(_DECIMAL.pattern + r"(e[+-]?[0-9]+)?", re.IGNORECASE)
_DASHED = "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_GUID = re.compile(rf"[0-9a-f]{{32}}|{_DASHED}|\{{{_DASHED}\}}|\({_DASHED}\)", re.IGNORECASE)
_PARAMETER = re.compile(r"(\{(?:[^{}]|\{\{|\}\}|\{[^{}]*\})*\})")

Test = Callable[[str], bool]


def _whole(bits: int) -> Test:
    return lambda text: _WHOLE.fullmatch(text) is not None and -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1)


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


_PLAIN: dict[str, Test] = {
    "int": _whole(32),
    "long": _whole(64),
    "alpha": lambda text: re.fullmatch("[A-Za-z]*", text) is not None,
    "bool": lambda text: text.lower() in ("true", "false"),
    "decimal": lambda text: _DECIMAL.fullmatch(text) is not None,
    "double": lambda text: _FLOAT.fullmatch(text) is not None,
    "float": lambda text: _FLOAT.fullmatch(text) is not None,
    "guid": lambda text: _GUID.fullmatch(text) is not None,
    "datetime": _is_date,
    "required": bool,
}


def _in_range(low: int | None, high: int | None) -> Test:
    def test(text: str) -> bool:
        if _WHOLE.fullmatch(text) is None:
            return False
        return (low is None or int(text) >= low) and (high is None or int(text) <= high)

    return test


_SIZED: dict[tuple[str, int], Callable[..., Test]] = {
    ("length", 1): lambda size: lambda text: len(text) == size,
    ("length", 2): lambda low, high: lambda text: low <= len(text) <= high,
    ("minlength", 1): lambda low: lambda text: len(text) >= low,
    ("maxlength", 1): lambda high: lambda text: len(text) <= high,
    ("min", 1): lambda low: _in_range(low, None),
    ("max", 1): lambda high: _in_range(None, high),
    ("range", 2): _in_range,
}


def _constraint(text: str, template: str) -> Test:
    name, bracket, arguments = text.partition("(")
    name = name.lower()
    try:
        if not bracket:
            return _PLAIN[name]
        arguments = arguments.removesuffix(")").replace("{{", "{").replace("}}", "}")
        if name == "regex":
            pattern = re.compile(arguments, re.IGNORECASE)
            return lambda value: pattern.search(value) is not None
        numbers = [int(part) for part in arguments.split(",")]
        return _SIZED[name, len(numbers)](*numbers)
    except (KeyError, ValueError, re.error):
        raise ValueError(f"the route {template!r} has a constraint that does not exist: {text}") from None


@dataclass(frozen=True, slots=True)
class Route:
    """`template` includes the prefix. `methods` is None for every method."""

    template: str
    methods: frozenset[str] | None
    pattern: re.Pattern[str]
    names: tuple[str, ...]
    tests: tuple[tuple[str, Test], ...] = ()
    defaults: dict[str, str] = field(default_factory=dict)

    def takes(self, method: str) -> bool:
        return self.methods is None or method in self.methods

    def match(self, path: str) -> dict[str, str] | None:
        """The parameters, or None. `path` is decoded and has no slash at either end."""
        found = self.pattern.fullmatch(path)
        if found is None:
            return None
        values = {name: text for name, text in zip(self.names, found.groups(), strict=True) if text}
        for name, test in self.tests:
            if name in values and not test(values[name]):
                return None
        return {**self.defaults, **values}


def parse_route(prefix: str, template: str, methods: Sequence[str] | None) -> Route:
    """Raises ValueError, with what is wrong."""
    whole = "/".join(part for part in (prefix, template.strip("/")) if part)
    pattern, names = "", list[str]()
    tests, defaults = list[tuple[str, Test]](), dict[str, str]()
    for index, segment in enumerate(_split(whole, "/")):
        slash = "/" if index else ""
        text, absent = "", False
        for piece in _PARAMETER.split(segment):
            if not piece.startswith("{"):
                if "}" in piece:
                    raise ValueError(f"the route {whole!r} has a brace too many")
                text += re.escape(piece)
                continue
            name, constraints, default, optional = _parameter(piece, whole)
            if (optional or default is not None) and piece != segment:
                raise ValueError(f"in the route {whole!r}, {piece} must be a whole segment to be optional")
            names.append(name)
            tests += [(name, _constraint(each, whole)) for each in constraints]
            if default is not None:
                defaults[name] = default
            absent = optional or default is not None
            text += "(.*)" if piece.startswith("{*") else "([^/]+)"
        pattern += f"(?:{slash}{text})?" if absent else slash + text
    if len({name.lower() for name in names}) != len(names):
        raise ValueError(f"the route {whole!r} names a parameter twice")
    taken = None if methods is None else frozenset(method.upper() for method in methods)
    return Route(whole, taken, re.compile(pattern, re.IGNORECASE), tuple(names), tuple(tests), defaults)


def _parameter(piece: str, whole: str) -> tuple[str, list[str], str | None, bool]:
    """Name, constraints, default and whether it may be absent, of `{name:constraint=default}` and its kin."""
    greedy = piece.startswith("{*")
    declaration, *default = _split(piece[1:-1].lstrip("*"), "=")
    name, *constraints = _split(declaration.removesuffix("?"), ":")
    if not re.fullmatch(r"[^/{}*?:=]+", name):
        raise ValueError(f"the route {whole!r} has a parameter without a proper name: {piece}")
    return name, constraints, "=".join(default) if default else None, greedy or declaration.endswith("?")


def _split(text: str, separator: str) -> list[str]:
    """At separators that stand in no braces and no brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "{(") - (char in "})")
        if char == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return parts


def routed_path(raw_path: str) -> str:
    """A request's path as it is matched: decoded but for %2F, without slashes at its ends."""
    if "%" in raw_path:
        raw_path = unquote(re.sub("%2f", "%252F", raw_path, flags=re.IGNORECASE))
    return raw_path.strip("/")
