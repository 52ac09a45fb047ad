"""App settings, and host.json with the settings that overlay it. Reads files, changes nothing.

As with `func start`, the environment wins over local.settings.json. --set wins over both. Without
local.settings.json, its sample has the defaults.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import Refused

LEVELS = ("trace", "debug", "information", "warning", "error", "critical", "none")
_OVERLAY = "azurefunctionsjobhost__"
_MISSING = object()


@dataclass(frozen=True, slots=True)
class QueueOptions:
    """host.json's extensions.queues; times in seconds."""

    visibility_timeout: float
    max_polling_interval: float
    batch_size: int
    new_batch_threshold: int
    max_dequeue_count: int
    base64: bool


@dataclass(frozen=True, slots=True)
class HostOptions:
    """The values of host.json that this host uses. `function_timeout` is in seconds, None for no limit."""

    route_prefix: str
    headers: Mapping[str, str]
    queues: QueueOptions
    function_timeout: float | None
    log_levels: Mapping[str, str]
    has_bundle: bool

    def allows(self, category: str, level: str) -> bool:
        """Whether logging.logLevel lets a line through: the longest category that matches decides."""
        matching = [name for name in self.log_levels if name != "default" and _within(category, name)]
        floor = self.log_levels[max(matching, key=len)] if matching else self.log_levels.get("default", "information")
        return floor != "none" and LEVELS.index(level) >= LEVELS.index(floor)


def _within(category: str, name: str) -> bool:
    return category.lower().startswith(name.lower())


def time_span(text: object) -> float:
    """A .NET time span, [d.]hh:mm[:ss[.fff]], in seconds. Raises ValueError."""
    match = re.fullmatch(r"(?:(\d+)\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2}(?:\.\d{1,7})?))?", str(text).strip())
    if match is None:
        raise ValueError(f"{text!r} is not a time span such as 00:00:30")
    days, hours, minutes, seconds = (float(part or 0) for part in match.groups())
    if hours > 23 or minutes > 59 or seconds >= 60:
        raise ValueError(f"{text!r} is not a time span: hours go to 23, minutes and seconds to 59")
    return days * 86400 + hours * 3600 + minutes * 60 + seconds


def read_host_json(path: Path, environment: Mapping[str, str]) -> HostOptions:
    """host.json, with AzureFunctionsJobHost__a__b settings laid over it. Raises Refused."""
    try:
        tree = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise Refused(f"{path} is missing: without it the folder is no Functions app") from None
    except ValueError as error:
        raise Refused(f"{path} is not JSON: {error}") from None
    if not isinstance(tree, dict) or tree.get("version") != "2.0":
        raise Refused(f'{path} must have "version": "2.0"')
    for name, value in environment.items():
        if name.lower().startswith(_OVERLAY):
            _overlay(tree, name[len(_OVERLAY) :].split("__"), value)
    try:
        return _host_options(tree)
    except ValueError as error:
        raise Refused(f"{path}: {error}") from None


def _overlay(tree: dict[str, Any], keys: list[str], value: str) -> None:
    node = tree
    for key in keys[:-1]:
        child = node.setdefault(_known_key(node, key), {})
        if not isinstance(child, dict):
            raise Refused(f"the setting AzureFunctionsJobHost__{'__'.join(keys)} goes below a value of host.json")
        node = child
    node[_known_key(node, keys[-1])] = value


def _known_key(node: Mapping[str, Any], key: str) -> str:
    return next((name for name in node if name.lower() == key.lower()), key)


def _at(tree: Mapping[str, Any], path: str, default: Any = None) -> Any:
    node: Any = tree
    for key in path.split("."):
        node = node.get(_known_key(node, key), _MISSING) if isinstance(node, dict) else _MISSING
        if node is _MISSING:
            return default
    return node


def _host_options(tree: Mapping[str, Any]) -> HostOptions:
    def whole(name: str, default: int, low: int, high: int) -> int:
        path = f"extensions.queues.{name}"
        text = str(_at(tree, path, default))
        if not text.isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"{path} must be a whole number from {low} to {high}, not {text}")
        return int(text)

    def span(path: str, default: str) -> float:
        try:
            return time_span(_at(tree, path, default))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    encoding = str(_at(tree, "extensions.queues.messageEncoding", "base64")).lower()
    if encoding not in ("base64", "none"):
        raise ValueError(f"extensions.queues.messageEncoding must be base64 or none, not {encoding}")
    batch = whole("batchSize", 16, 1, 32)
    queues = QueueOptions(
        visibility_timeout=span("extensions.queues.visibilityTimeout", "00:00:00"),
        max_polling_interval=max(0.1, span("extensions.queues.maxPollingInterval", "00:01:00")),
        batch_size=batch,
        new_batch_threshold=whole("newBatchThreshold", batch // 2, 0, 1000),
        max_dequeue_count=whole("maxDequeueCount", 5, 1, 1000),
        base64=encoding == "base64",
    )
    timeout = str(_at(tree, "functionTimeout", "00:30:00"))
    levels = {name: str(level).lower() for name, level in _at(tree, "logging.logLevel", {}).items()}
    for name, level in levels.items():
        if level not in LEVELS:
            raise ValueError(f"logging.logLevel.{name} must be one of {', '.join(LEVELS)}, not {level}")
    return HostOptions(
        route_prefix=str(_at(tree, "extensions.http.routePrefix", "api")).strip("/"),
        headers={name: str(value) for name, value in _at(tree, "extensions.http.customHeaders", {}).items()},
        queues=queues,
        function_timeout=None if timeout == "-1" else span("functionTimeout", "00:30:00"),
        log_levels=levels,
        has_bundle=bool(_at(tree, "extensionBundle.id")),
    )


def app_settings(
    app_dir: Path, given: Mapping[str, str], environment: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The app's settings, and the names that the environment keeps from local.settings.json. Raises Refused."""
    path = app_dir / "local.settings.json"
    if not path.exists():
        path = app_dir / "local.settings.json.sample"
    values = _values(path) if path.exists() else {}
    kept = sorted(name for name, value in values.items() if environment.get(name, value) != value)
    return {**values, **{name: environment[name] for name in kept}, **given}, [n for n in kept if n not in given]


def _values(path: Path) -> dict[str, str]:
    try:
        tree = json.loads(path.read_text("utf-8-sig"))
    except ValueError as error:
        raise Refused(f"{path} is not JSON: {error}") from None
    if isinstance(tree, dict) and tree.get("IsEncrypted"):
        raise Refused(f"{path} is encrypted: run `func settings decrypt`")
    values = tree.get("Values", {}) if isinstance(tree, dict) else None
    if not isinstance(values, dict) or any(isinstance(value, dict | list) for value in values.values()):
        raise Refused(f'{path} must be {{"Values": {{NAME: text}}}}')
    return {
        name: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
        if value is not None
    }


def resolved(text: str, settings: Mapping[str, str], where: str) -> str:
    """`text` with each %NAME% replaced by the setting. Raises Refused with the name that is missing."""

    def value(match: re.Match[str]) -> str:
        found = settings.get(match[1])
        if found is None:
            raise Refused(f"{where}: there is no app setting {match[1]} for %{match[1]}%")
        return found

    return re.sub("%([^%]+)%", value, text)
