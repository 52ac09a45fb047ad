"""One setting: its name, type, default, rule and description, and how its text is read; and which setting a name was
meant to be. Pure."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

SettingKind = Literal["text", "whole number", "number", "true or false", "list"]
_KINDS: Mapping[type, SettingKind] = {
    bool: "true or false",
    int: "whole number",
    float: "number",
    str: "text",
    tuple: "list",
}
_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_UNRESOLVED = "@microsoft.keyvault("


@dataclass(frozen=True, slots=True)
class Form:
    """A rule for a text: `fits` checks it, `allowed` describes it in error messages."""

    fits: Callable[[str], object]
    allowed: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `sample` is the value in local.settings.json.sample; None leaves the setting out."""

    attribute: str
    name: str
    kind: SettingKind
    default: Any
    description: str
    low: float
    high: float
    choices: tuple[str, ...]
    form: Form | None
    separator: str
    secret: bool
    sample: str | None
    key: str | None
    """Where config/ingestion.yaml has the setting, such as fetcher.retry_attempts. None: it cannot be set there."""
    has_effect: bool
    api: str | None = None
    """The news API that the setting belongs to."""

    @property
    def allowed(self) -> str:
        """The rule for values, for error messages and the documentation."""
        if self.choices:
            return f"must be one of {', '.join(self.choices)}"
        if self.low > -math.inf:
            return f"must be a {self.kind} from {self.low:.10g} to {self.high:.10g}"
        return f"must be {self.form.allowed if self.form else self.kind}"

    def read(self, text: str) -> Any:
        """Parses a value. Raises ValueError with the rule; the message never quotes `text`, which may be a secret."""
        if text.lower().startswith(_UNRESOLVED):
            raise ValueError(
                "is an unresolved Key Vault reference: check that the secret exists and that the app may read it"
            )
        if self.kind == "true or false" and (text.lower() in _WORDS or not self.form):
            if text.lower() not in _WORDS:
                raise ValueError(self.allowed)
            return _WORDS[text.lower()]
        if self.kind in ("whole number", "number"):
            return self._number(text)
        if self.kind == "list" or self.separator:
            parts = tuple(part.strip() for part in text.split(self.separator) if part.strip())
            for part in parts:
                self._check(part)
            return parts
        if self.choices:
            found = [choice for choice in self.choices if choice.lower() == text.lower()]
            if not found:
                raise ValueError(self.allowed)
            return found[0]
        self._check(text)
        return text

    def _number(self, text: str) -> int | float:
        try:
            number = int(text) if self.kind == "whole number" else float(text)
        except ValueError:
            raise ValueError(self.allowed) from None
        if not self.low <= number <= self.high:
            raise ValueError(self.allowed)
        return number

    def _check(self, text: str) -> None:
        if self.form and not self.form.fits(text):
            raise ValueError(self.allowed)


@dataclass(frozen=True, slots=True)
class AddressRange:
    """A network, or one address, and the only port there; None is every port."""

    network: IPv4Network | IPv6Network
    port: int | None = None

    @classmethod
    def of(cls, text: str) -> Self:
        """Of `10.0.0.0/8`, `127.0.0.1`, `127.0.0.1:8080` or `[::1]:8080`. Raises ValueError for other texts."""
        host, port = text, ""
        if text.startswith("["):
            host, closed, port = text[1:].partition("]")
            if not closed or not port.startswith(":"):
                raise ValueError(text)
            port = port[1:]
        elif text.count(":") == 1:
            host, _, port = text.partition(":")
        if port != "" and not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
            raise ValueError(text)
        if text.endswith(":"):
            raise ValueError(text)
        return cls(ip_network(host), int(port) if port else None)

    def has(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        return address.version == self.network.version and address in self.network and self.port in (None, port)


def _is_address_range(text: str) -> bool:
    try:
        AddressRange.of(text)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _is_secure(text: str) -> bool:
    try:
        url = urlsplit(text)
        host, _ = url.hostname or "", url.port
    except ValueError:
        return False
    if not host or url.username is not None or url.query or url.fragment:
        return False
    return url.scheme == "https" or (url.scheme == "http" and _is_loopback(host))


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
ADDRESSES = Form(
    _is_address_range,
    "true, false, or a list such as 127.0.0.1:7072,10.0.0.0/8",
)
AGENTS = Form(re.compile(r"[\x20-\x7e]{1,300}").fullmatch, "printable ASCII, several separated by |")


def setting(
    default: Any,
    description: str,
    *,
    between: tuple[float, float] = (-math.inf, math.inf),
    choices: tuple[str, ...] = (),
    form: Form | None = None,
    separator: str = "",
    secret: bool = False,
    name: str | None = None,
    sample: str | Literal["default"] | None = "default",
    section: str | None = None,
    key: str | None = None,
    has_effect: bool = True,
) -> Any:
    """A field of `Settings`. With `section`, config/ingestion.yaml can set it there, under `key` or its own name."""
    row = {"description": description, "low": between[0], "high": between[1], "choices": choices, "form": form}
    row |= {"separator": separator, "secret": secret, "name": name, "sample": sample}
    row |= {"section": section, "key": key, "has_effect": has_effect}
    return dataclasses.field(default=default, metadata=row)


def row_of(attribute: str, field: dataclasses.Field[Any]) -> Setting:
    """The setting that a field of `Settings` declares. The sample leaves out what config/ingestion.yaml can set, or it
    would win over that file."""
    of = dict(field.metadata)
    name, section = of.pop("name") or attribute.upper(), of.pop("section")
    of["key"] = f"{section}.{of['key'] or attribute}" if section else None
    default = field.default
    made = Setting(attribute=attribute, name=name, kind=_KINDS[type(default)], default=default, **of)
    if made.sample != "default":
        return made
    return dataclasses.replace(made, sample=None if section else default_text(made))


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
