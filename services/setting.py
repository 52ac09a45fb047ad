"""One setting: its name, type, default, rule and description, and how its text is read from the environment and from
config/ingestion.yaml; and which setting a name was meant to be.

That file has the `ingestion:` block of the ingestion specification, with every key known and every value checked. A key
that is unknown, and a value that breaks its rule, are problems that name the key; nothing is ignored. The list `feeds:`
may be in the same file: `toolpulse feeds apply` reads it, not the start of the app.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Any, Final, Self
from urllib.parse import urlsplit

_KINDS = {bool: "true or false", int: "whole number", float: "number", str: "text", tuple: "list"}
_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_UNRESOLVED = "@microsoft.keyvault("


@dataclass(frozen=True, slots=True)
class Form:
    """A rule for a text: `fits` is false or raises ValueError for another, `allowed` describes it in error messages."""

    fits: Callable[[str], object]
    allowed: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `between` are the bounds of a number.

    `sample` is the value in local.settings.json.sample; None leaves the setting out. With `section`,
    config/ingestion.yaml can set it there: `key` is then the whole key, such as fetcher.retry_attempts.
    """

    default: Any
    description: str
    between: tuple[float, float] = (-math.inf, math.inf)
    choices: tuple[str, ...] = ()
    form: Form | None = None
    separator: str = ""
    secret: bool = False
    sample: str | None = "default"
    section: str | None = None
    key: str | None = None
    has_effect: bool = True
    name: str = ""
    attribute: str = ""
    api: str | None = None
    """The news API that the setting belongs to."""

    @property
    def kind(self) -> str:
        return _KINDS[type(self.default)]

    @property
    def allowed(self) -> str:
        """The rule for values, for error messages and the documentation."""
        if self.choices:
            return f"must be one of {', '.join(self.choices)}"
        low, high = self.between
        if low > -math.inf:
            return f"must be a {self.kind} from {low:.10g} to {high:.10g}"
        return f"must be {self.form.allowed if self.form else self.kind}"

    def read(self, text: str) -> Any:
        """Parses a value. Raises ValueError with the rule; the message never quotes `text`, which may be a secret."""
        if text.lower().startswith(_UNRESOLVED):
            raise ValueError(
                "is an unresolved Key Vault reference: check that the secret exists and that the app may read it"
            )
        try:
            return self._parsed(text)
        except (ValueError, KeyError):
            raise ValueError(self.allowed) from None

    def _parsed(self, text: str) -> Any:
        """Raises ValueError or KeyError for a text that is not allowed."""
        if self.kind == "true or false" and (text.lower() in _WORDS or not self.form):
            return _WORDS[text.lower()]
        if self.kind in ("whole number", "number"):
            number = type(self.default)(text)
            if not self.between[0] <= number <= self.between[1]:
                raise ValueError
            return number
        if self.choices:
            return {choice.lower(): choice for choice in self.choices}[text.lower()]
        parts = [part.strip() for part in text.split(self.separator) if part.strip()] if self.separator else [text]
        if self.form and not all(map(self.form.fits, parts)):
            raise ValueError
        return tuple(parts) if self.separator else text


_WITH_PORT = re.compile(r"(?:\[(?P<bracketed>[^\]]+)\]|(?P<host>[^:/]+)):(?P<port>[0-9]{1,5})")


@dataclass(frozen=True, slots=True)
class AddressRange:
    """A network, or one address, and the only port there; None is every port."""

    network: IPv4Network | IPv6Network
    port: int | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Of `10.0.0.0/8`, `127.0.0.1`, `127.0.0.1:8080` or `[::1]:8080`. Raises ValueError for other texts."""
        found = _WITH_PORT.fullmatch(text)
        if found is None:
            return cls(ip_network(text))
        port = int(found["port"])
        if not 0 < port < 65536:
            raise ValueError(text)
        return cls(ip_network(found["host"] or found["bracketed"]), port)

    def has(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        return address.version == self.network.version and address in self.network and self.port in (None, port)


def is_loopback_host(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_secure(text: str) -> bool:
    url = urlsplit(text)
    host, _ = url.hostname or "", url.port  # which raises for a wrong port
    if not host or url.username is not None or url.query or url.fragment:
        return False
    return url.scheme == "https" or (url.scheme == "http" and is_loopback_host(host))


def _is_dsn(text: str) -> bool:
    key, at, rest = text.partition("://")[2].partition("@")
    scheme, project = text.partition("://")[0], rest.rpartition("/")[2]
    return bool(at) and key.isalnum() and project.isdigit() and _is_secure(f"{scheme}://{rest}")


URL = Form(_is_secure, "an https:// URL (http:// only to this machine) without user, query or fragment")
DSN = Form(_is_dsn, "a DSN, https://KEY@HOST/PROJECT (http:// only to this machine)")
INSIGHTS = Form(
    re.compile(r"(?i)(?:[^;]*;)*InstrumentationKey=[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:;.*)?").fullmatch,
    "a connection string of Application Insights, with InstrumentationKey=",
)
DATABASE = Form(re.compile(r"[^/\\?#\s]{1,255}").fullmatch, r"1 to 255 characters without spaces or / \ ? #")
TICKERS = Form(re.compile(r"[A-Z0-9][A-Z0-9.\-]{0,14}").fullmatch, "tickers in upper case, such as AAPL,MSFT,BRK.B")
ADDRESSES = Form(AddressRange.of, "true, false, or a list such as 127.0.0.1:7072,10.0.0.0/8")
AGENTS = Form(re.compile(r"[\x20-\x7e]{1,300}").fullmatch, "printable ASCII, several separated by |")


def setting(default: Any, description: str, **options: Any) -> Any:
    """A field of `Settings`, with further fields of `Setting`. Its name is the attribute in upper case, and its key the
    attribute, unless they are given. A secret is in no representation of the settings."""
    row = Setting(default, description, **options)
    return dataclasses.field(default=default, repr=not row.secret, metadata={"row": row})


def row_of(attribute: str, field: dataclasses.Field[Any]) -> Setting:
    """The setting that a field of `Settings` declares. The sample leaves out what config/ingestion.yaml can set, or it
    would win over that file."""
    row: Setting = field.metadata["row"]
    key = f"{row.section}.{row.key or attribute}" if row.section else None
    named = dataclasses.replace(row, attribute=attribute, name=row.name or attribute.upper(), key=key)
    if row.sample != "default":
        return named
    return dataclasses.replace(named, sample=None if row.section else default_text(named))


def default_text(setting: Setting) -> str:
    """The default as the text of an environment variable."""
    if isinstance(setting.default, bool):
        return str(setting.default).lower()
    if isinstance(setting.default, tuple):
        return setting.separator.join(setting.default)
    return f"{setting.default:g}" if isinstance(setting.default, float) else str(setting.default)


_ALIKE: Final = 0.6
_ALMOST_EQUAL: Final = 0.9
_OF_OTHERS: Final = re.compile(
    r"AzureWebJobs|AzureFunctions|FUNCTIONS?_|WEBSITES?_|APPLICATIONINSIGHTS_|APPINSIGHTS_|APPSETTING_|SCM_|LANGUAGE_"
    r"|languageWorkers|PYTHON|AZURE_(?:FUNCTIONS|CLIENT|TENANT|AUTHORITY|FEDERATED|TOKEN|SDK|LOG|HTTP|IDENTITY|POD)_?"
    r"|MSI_|IDENTITY_|OTEL_|DIAGNOSTICS_|DOCKER_|CONTAINER_|KUBERNETES_|ENABLE_ORYX|ORYX_|BUILD_FLAGS|XDG_|REGION_NAME"
    r"|FEED_CREDENTIAL_|(?:HTTPS?|ALL|NO)_PROXY$|SSL_CERT_|REQUESTS_CA_BUNDLE$|NO_COLOR$|TZ$|PATH$|LANG$|LC_|TMPDIR$",
    re.IGNORECASE,
)
"""Names that the Functions host, Azure, Python and libraries read, and those of the credentials of feeds."""


def unknown(given: Iterable[str], rows: Sequence[Setting]) -> list[str]:
    """One sentence for each given name that is not a setting."""
    known = {row.name for row in rows}
    return [_sentence(name, known) for name in sorted(given) if name not in known and not _OF_OTHERS.match(name)]


def nearly_settings(environment: Iterable[str], rows: Sequence[Setting]) -> list[str]:
    """One sentence for each variable of the machine that is almost the name of a setting."""
    known = {row.name for row in rows}
    found = []
    for name in sorted(environment):
        if name not in known and not _OF_OTHERS.match(name) and (near := _nearest(name, known, _ALMOST_EQUAL)):
            found.append(f"the environment variable {name} is not a setting, but resembles {near}")
    return found


def _sentence(name: str, known: Collection[str]) -> str:
    near = _nearest(name, known, _ALIKE)
    return f"{name} is not a setting of this app" + (f": did you mean {near}?" if near else "")


def _nearest(name: str, known: Collection[str], cutoff: float) -> str | None:
    of_upper = {each.upper(): each for each in known}
    near = difflib.get_close_matches(name.upper(), sorted(of_upper), 1, cutoff)
    return of_upper[near[0]] if near else None


FILE_SETTING: Final = "CONFIGURATION_FILE"
DEFAULT_FILE: Final = "config/ingestion.yaml"
_APP: Final = Path(__file__).resolve().parents[1]
_BLOCK, _FEEDS = "ingestion", "feeds"


@dataclass(frozen=True, slots=True)
class Configuration:
    """What the file sets, by attribute of `Settings`, and what is wrong in it: sentences with file and key."""

    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    problems: tuple[str, ...] = ()


NO_FILE: Final = Configuration()


def read_file(named: str, rows: Sequence[Setting], app: Path = _APP) -> Configuration:
    """The file `named`, or config/ingestion.yaml if there is one. A named file that cannot be read is a problem."""
    name = named or DEFAULT_FILE
    try:
        document = (app / name).read_bytes()
    except FileNotFoundError:
        return Configuration(problems=(f"{FILE_SETTING} names {name}, which does not exist",)) if named else NO_FILE
    except OSError as error:
        return Configuration(problems=(f"{name} cannot be read: {error.strerror}",))
    return parse_file(document, rows, name)


def parse_file(document: bytes, rows: Sequence[Setting], name: str = DEFAULT_FILE) -> Configuration:
    from services.yaml_tree import read_tree

    try:
        content, _ = read_tree(document, plain=str)  # every value is a text, as in the environment
    except ValueError as error:
        return Configuration(problems=(f"{name} must be YAML, but cannot be parsed ({error})",))
    values: dict[str, Any] = {}
    problems = []
    if not isinstance(content or {}, dict):
        return Configuration(problems=(f"{name} must be a mapping with {_BLOCK} and {_FEEDS}",))
    for key, text in _pairs(content or {}):
        try:
            values |= _read(key, text, rows)
        except ValueError as error:
            problems.append(f"{name}: {key} {error}")
    return Configuration(values, tuple(problems))


def _pairs(content: Mapping[Any, Any], path: str = "") -> Iterator[tuple[str, object]]:
    """Each value with its whole key, such as `ingestion.fetcher.retry_attempts`; also blocks without a value."""
    for key, value in content.items():
        if isinstance(value, dict) and value:
            yield from _pairs(value, f"{path}{key}.")
        else:
            yield f"{path}{key}", value


def _read(key: str, text: object, rows: Sequence[Setting]) -> dict[str, Any]:
    """The setting that the key sets. Raises ValueError, with what is wrong with the key or the value."""
    if key == _FEEDS:
        if text and not isinstance(text, list):
            raise ValueError("must be a list of feeds")
        return {}
    settings = {f"{_BLOCK}.{row.key}": row for row in rows if row.key}
    sections = {_BLOCK, *(name.rpartition(".")[0] for name in settings)}
    row = settings.get(key)
    if row is None:
        if key in sections:
            if text:
                raise ValueError("must be a block of settings")
            return {}
        near = difflib.get_close_matches(key, sorted(sections if key.count(".") < 2 else settings), 1)
        raise ValueError("is unknown" + (f": did you mean {near[0]}?" if near else f"; allowed: {', '.join(settings)}"))
    if not text:
        raise ValueError(f"has no value: {row.allowed}; without the line, the default counts")
    if not isinstance(text, str):
        raise ValueError(row.allowed)
    value = row.read(text.strip())
    if not row.has_effect and value != row.default:
        raise ValueError(f"has no effect in this version: leave it out, or at {row.default}")
    return {row.attribute: value}
