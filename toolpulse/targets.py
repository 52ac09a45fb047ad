"""Which app a command talks to, by the options, the environment and the profiles. Decides, and opens nothing.

The first of these that is given wins: --url or --data, --profile, TOOLPULSE_URL, TOOLPULSE_PROFILE, the default profile
of the configuration file, the data folder `.data`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from toolpulse.failures import WRONG_USAGE, Failure

URL, PROFILE, KEY, MANAGEMENT_KEY = "TOOLPULSE_URL", "TOOLPULSE_PROFILE", "TOOLPULSE_KEY", "TOOLPULSE_MANAGEMENT_KEY"
CONFIG = "TOOLPULSE_CONFIG"
DEFAULT_FOLDER = ".data"
PROFILE_FIELDS = ("url", "data", "key", "management_key")
_API = "/api/v1"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True, slots=True)
class Remote:
    """An app at a URL. `base` ends with /api/v1; `name` is what a person calls the app, if not by its URL."""

    base: str
    key: str = ""
    management_key: str = ""
    name: str = ""

    @property
    def site(self) -> str:
        return self.name or self.base.removesuffix(_API)

    @property
    def is_local(self) -> bool:
        """Whether the app is on this machine, so that no proxy is asked."""
        return "//127.0.0.1:" in self.base

    @property
    def sends_keys_in_the_clear(self) -> bool:
        parts = urlsplit(self.base)
        return parts.scheme == "http" and parts.hostname not in _LOOPBACK and bool(self.key or self.management_key)


@dataclass(frozen=True, slots=True)
class Local:
    """The app of a data folder. `is_named`: somebody named the folder, so that it may be made."""

    folder: Path | None
    settings: Mapping[str, str]
    is_named: bool


Target = Remote | Local


@dataclass(frozen=True, slots=True)
class Given:
    """The options that every command takes."""

    url: str | None = None
    data: Path | None = None
    profile: str | None = None
    settings: Sequence[str] = ()


def target(given: Given, environment: Mapping[str, str]) -> Target:
    """Raises Failure for options that contradict each other, and for a profile that cannot be used."""
    settings = dict(_name_and_value(each) for each in given.settings)
    named = [f"--{name}" for name in ("url", "data", "profile") if getattr(given, name) is not None]
    if len(named) > 1:
        raise Failure(f"{' and '.join(named)} both name an app: give one of them", WRONG_USAGE)
    if given.data is not None:
        return Local(given.data.absolute(), settings, is_named=True)
    if given.url is not None:
        found: Target = _remote(given.url, {}, environment)
    else:
        found = _of_environment(given.profile, settings, environment)
    if settings and isinstance(found, Remote):
        raise Failure(f"--set is for the app of a data folder, and {found.site} has settings of its own", WRONG_USAGE)
    return found


def _of_environment(profile: str | None, settings: Mapping[str, str], environment: Mapping[str, str]) -> Target:
    if profile is None and environment.get(URL):
        return _remote(environment[URL], {}, environment)
    path = config_file(environment)
    document = read_config(path)
    name = profile or environment.get(PROFILE) or document.get("default")
    if name is None:
        return Local(None, settings, is_named=False)
    fields = profiles_of(document, path).get(str(name))
    if fields is None:
        known = ", ".join(profiles_of(document, path)) or "none"
        raise Failure(f"there is no profile {name!r} in {path}; there are: {known}", WRONG_USAGE)
    if "data" in fields:
        return Local((path.parent / Path(fields["data"]).expanduser()).absolute(), settings, is_named=True)
    return _remote(fields["url"], fields, environment)


def _remote(url: str, fields: Mapping[str, str], environment: Mapping[str, str]) -> Remote:
    """Keys in the environment win over those of the profile, which win over none."""
    key = environment.get(KEY) or fields.get("key", "")
    return Remote(base_of(url), key, environment.get(MANAGEMENT_KEY) or fields.get("management_key", ""))


def base_of(url: str) -> str:
    """The address of the API, of a URL with or without /api or /api/v1."""
    text = url.strip()
    try:
        parts = urlsplit(text if "://" in text else f"https://{text}")
        is_right = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        parts, is_right = urlsplit(""), False
    if not is_right or parts.query or parts.fragment or parts.username is not None:
        raise Failure(f"{url!r} is no URL of an app: give one such as https://toolpulse.example.com", WRONG_USAGE)
    path = parts.path.rstrip("/").removesuffix("/v1").removesuffix("/api")
    return f"{parts.scheme}://{parts.netloc}{path}{_API}"


def _name_and_value(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise Failure(f"--set: {text!r} is not NAME=VALUE", WRONG_USAGE)
    return name, value


def config_file(environment: Mapping[str, str]) -> Path:
    if environment.get(CONFIG):
        return Path(environment[CONFIG]).absolute()
    folder = environment.get("XDG_CONFIG_HOME") or str(Path("~/.config").expanduser())
    return Path(folder) / "toolpulse" / "config.toml"


def read_config(path: Path) -> dict[str, Any]:
    """The document; empty if there is no such file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise Failure(f"{path} cannot be read: {error}", WRONG_USAGE) from None


def profiles_of(document: Mapping[str, Any], path: Path) -> dict[str, dict[str, str]]:
    """Raises Failure for a profile that names neither or both of `url` and `data`, or another field."""
    tables = document.get("profiles", {})
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise Failure(f"{path}: profiles must be tables such as [profiles.production]", WRONG_USAGE)
    for name, fields in tables.items():
        unknown = [field for field in fields if field not in PROFILE_FIELDS]
        if unknown or ("url" in fields) == ("data" in fields) or not all(isinstance(v, str) for v in fields.values()):
            raise Failure(f"{path}: the profile {name!r} must have the texts url or data, and maybe key and "
                          "management_key, and nothing else", WRONG_USAGE)  # fmt: skip
    return dict(tables)
