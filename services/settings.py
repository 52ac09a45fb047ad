"""Every setting, one line each: name, type, default, what is allowed, whether it is secret, what it is for.

Reads a mapping that is handed in, never the environment at import; all wrong values are reported together. A setting's
name is its attribute in upper case, unless the line says otherwise. `python -m services.settings` prints the table,
`python -m services.settings sample` prints local.settings.json.sample.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

from models.errors import InvalidInput

Kind = Literal["text", "whole number", "number", "true or false", "list"]
_KINDS: Mapping[type, Kind] = {bool: "true or false", int: "whole number", float: "number", str: "text", tuple: "list"}
_WORDS: Mapping[str, bool] = {
    **dict.fromkeys(("true", "1", "yes", "on"), True),
    **dict.fromkeys(("false", "0", "no", "off"), False),
}
_UNRESOLVED = "@microsoft.keyvault("
_AZURE_COSMOS = (".documents.azure.com", ".documents.azure.us", ".documents.azure.cn")


@dataclass(frozen=True, slots=True)
class Form:
    """What a text must look like, for a machine and for a person."""

    fits: Callable[[str], object]
    allowed: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `sample` is what local.settings.json.sample says, None where it is silent."""

    attribute: str
    name: str
    kind: Kind
    default: Any
    about: str
    low: float
    high: float
    choices: tuple[str, ...]
    form: Form | None
    separator: str
    secret: bool
    sample: str | None

    @property
    def allowed(self) -> str:
        """For a person."""
        if self.choices:
            return f"must be one of {', '.join(self.choices)}"
        if self.low > -math.inf:
            return f"must be a {self.kind} from {self.low:.10g} to {self.high:.10g}"
        return f"must be {self.form.allowed if self.form else self.kind}"

    def read(self, text: str) -> Any:
        """The value that `text` means. ValueError, which never quotes the text, says what is allowed."""
        if text.lower().startswith(_UNRESOLVED):
            raise ValueError("is a Key Vault reference that was not resolved: see the app's identity and the vault")
        if self.kind == "true or false":
            if text.lower() not in _WORDS:
                raise ValueError(self.allowed)
            return _WORDS[text.lower()]
        if self.kind in ("whole number", "number"):
            return self._number(text)
        if self.kind == "list":
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


_URL = Form(_is_secure, "an https:// URL (http:// only for this machine) without user, query or fragment")
_DSN = Form(_is_dsn, "a DSN, https://KEY@HOST/PROJECT (http:// only for this machine)")
_DATABASE = Form(re.compile(r"[^/\\?#\s]{1,255}").fullmatch, r"1 to 255 characters without spaces or / \ ? #")
_TICKERS = Form(re.compile(r"[A-Z0-9][A-Z0-9.\-]{0,14}").fullmatch, "tickers in upper case, such as AAPL,MSFT,BRK.B")
_MODEL = Form(re.compile(r"[\w.\-]{1,40}").fullmatch, "a model version, such as latest or 2022-11-01")
_AGENTS = Form(re.compile(r"[\x20-\x7e]{1,300}").fullmatch, "printable ASCII, several separated by |")


def _is(
    default: Any,
    about: str,
    *,
    between: tuple[float, float] = (-math.inf, math.inf),
    choices: tuple[str, ...] = (),
    form: Form | None = None,
    separator: str = "",
    secret: bool = False,
    name: str | None = None,
    sample: str | Literal["default"] | None = "default",
) -> Any:
    row = {"about": about, "low": between[0], "high": between[1], "choices": choices, "form": form}
    row |= {"separator": separator, "secret": secret, "name": name, "sample": sample}
    return dataclasses.field(default=default, metadata=row)


_AUTH = ("function", "anonymous")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_STORES = ("sqlite", "cosmos")
_AGENT = ("toolpulse (feed reader; its operator gave no contact)",)
_HOST: Final = "AzureWebJobsStorage"


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """What was set, checked. `store` is always `sqlite` or `cosmos`; an empty text means that nothing was set."""

    # Storage
    store: str = _is("", "Unset: cosmos if COSMOS_ENDPOINT is set, else sqlite", choices=_STORES)
    data_dir: str = _is(".data", "Folder of the embedded store and the archive")
    cosmos_endpoint: str = _is("", "URL of the Cosmos DB account or of an emulator", form=_URL)
    cosmos_key: str = _is("", "Key of an emulator; accounts in Azure take the app's identity instead", secret=True)
    cosmos_database: str = _is("toolpulse", "Name of the database", form=_DATABASE)
    cosmos_proxy_from_environment: bool = _is(False, "Whether Cosmos goes through HTTPS_PROXY; costs half the speed")

    # Sources
    tiingo_token: str = _is("", "Switches Tiingo on", secret=True)
    tiingo_base_url: str = _is("https://api.tiingo.com", "Where Tiingo is", form=_URL)
    finnhub_token: str = _is("", "Switches Finnhub on", secret=True)
    finnhub_base_url: str = _is("https://finnhub.io/api/v1", "Where Finnhub is", form=_URL)
    api_tickers: tuple[str, ...] = _is((), "Tickers to ask for, besides the tools' own", separator=",", form=_TICKERS)

    # Fetcher
    max_concurrent_requests: int = _is(128, "Fetches in flight at once in one instance", between=(1, 256))
    max_concurrent_requests_per_host: int = _is(
        0, "Of these, to one host; 0: two, and to this machine any number", between=(0, 64)
    )
    request_timeout_seconds: float = _is(10.0, "How long one fetch may take", between=(1, 120))
    retry_attempts: int = _is(3, "Tries of one fetch, the first included", between=(1, 10))
    retry_backoff_base: float = _is(2.0, "Base of the exponential backoff between tries, in seconds", between=(1, 10))
    fetch_user_agent: tuple[str, ...] = _is(
        _AGENT, "Who we say we are; several take turns", separator="|", form=_AGENTS
    )
    allow_private_addresses: bool = _is(False, "Whether feeds may be at private, loopback or link-local addresses")

    # Scheduler
    fetch_cycle_interval_seconds: int = _is(30, "How often due feeds are claimed, in steps of 30 s", between=(30, 3600))
    min_refresh_interval_minutes: float = _is(1.0, "No feed is fetched sooner", between=(1, 1440))
    max_refresh_interval_minutes: float = _is(15.0, "Nor later, unless the feed asks for that", between=(1, 1440))
    target_articles_per_fetch: int = _is(5, "New articles that the latest interval waits for", between=(1, 1000))
    fetch_budget_per_feed_hour: float = _is(8.0, "Fetches per hour and feed, on average over all", between=(1, 60))

    # Parser and processor
    dedup_cache_size: int = _is(10000, "Content hashes kept in memory", between=(0, 1_000_000))
    dedup_retention_days: int = _is(7, "Days that content hashes stay stored once unseen", between=(1, 30))
    batch_size: int = _is(100, "Ids of articles in one message for analysis", between=(1, 100))
    max_queue_size: int = _is(1000, "Feeds queued at once; more wait in the schedule", between=(1, 100_000))

    # Stories
    grouping_threshold_articles: int = _is(10, "Ungrouped articles that set off grouping", between=(1, 10_000))
    grouping_interval_minutes: int = _is(5, "Grouping also runs this often if there are any", between=(1, 1440))

    # Analysis
    analyzer: str = _is("embedded", "What judges texts", choices=("embedded", "azure-language"))
    azure_language_endpoint: str = _is("", "URL of the Azure AI Language resource", form=_URL)
    azure_language_key: str = _is("", "Its key; without one, the app's identity is used", secret=True)
    azure_language_model_version: str = _is("latest", "Its model; pin it, or a new one goes unseen", form=_MODEL)

    # Cache
    cache_memory_seconds: float = _is(2.0, "How long memory serves an aggregate; 0: never", between=(0, 60))

    # Access
    read_auth_level: str = _is("function", "What reading takes: a key or nothing", choices=_AUTH)
    management_key: str = _is("", "What management takes besides, as X-Management-Key", secret=True)

    # Monitoring
    log_level: str = _is("INFO", "How much is logged", choices=_LEVELS)
    structured_logging: bool = _is(True, "Whether log lines are JSON")
    metrics_enabled: bool = _is(True, "Whether GET metrics answers")
    metrics_port: int = _is(9090, "Without effect: Functions have one port, see GET metrics", between=(1, 65535))
    sentry_dsn: str = _is("", "Where lines logged at ERROR are reported to, if anywhere", form=_DSN, secret=True)

    # The host
    storage_connection: str = _is("", "Where queues are", name=_HOST, secret=True, sample="UseDevelopmentStorage=true")
    storage_account_name: str = _is("", "The storage account", name=f"{_HOST}__accountName", sample=None)
    storage_queue_service_uri: str = _is("", "Its queues", name=f"{_HOST}__queueServiceUri", form=_URL, sample=None)
    storage_client_id: str = _is("", "The identity's client id", name=f"{_HOST}__clientId", sample=None)
    storage_credential: str = _is("", "managedidentity", name=f"{_HOST}__credential", sample=None)
    website_site_name: str = _is("", "Set by Azure on every plan, and only there", sample=None)

    @property
    def on_azure(self) -> bool:
        return bool(self.website_site_name)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Checked settings. Raises InvalidInput that names every wrong one; settings of others are left alone.

        A setting that is blank counts as not set.
        """
        values: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for setting in table():
            text = environment.get(setting.name, "").strip()
            if text:
                try:
                    values[setting.attribute] = setting.read(text)
                except ValueError as error:
                    wrong[setting.name] = str(error)
        if not values.get("store"):
            values["store"] = "cosmos" if environment.get("COSMOS_ENDPOINT", "").strip() else "sqlite"
        settings = cls(**values)
        for name, problem in settings._contradictions():
            wrong.setdefault(name, problem)
        if wrong:
            raise InvalidInput("settings", "; ".join(f"{name} {problem}" for name, problem in sorted(wrong.items())))
        return settings

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        """What is wrong between settings, by the name of the one to change."""
        if self.store == "cosmos" and not self.cosmos_endpoint:
            yield "COSMOS_ENDPOINT", "must be set where STORE is cosmos"
        if self.store == "sqlite" and self.on_azure:
            yield "STORE", "must be cosmos on Azure, where instances share no disk"
        host = (urlsplit(self.cosmos_endpoint).hostname or "").rstrip(".")
        if self.cosmos_key and host.endswith(_AZURE_COSMOS):
            yield "COSMOS_KEY", "must not be set for an account in Azure: the app's identity is used"
        if self.min_refresh_interval_minutes > self.max_refresh_interval_minutes:
            yield "MIN_REFRESH_INTERVAL_MINUTES", "must be at most MAX_REFRESH_INTERVAL_MINUTES"
        if self.analyzer == "azure-language" and not self.azure_language_endpoint:
            yield "AZURE_LANGUAGE_ENDPOINT", "must be set where ANALYZER is azure-language"
        if not self.fetch_user_agent:
            yield "FETCH_USER_AGENT", "must name at least one"

    def __repr__(self) -> str:
        shown = (
            f"{row.attribute}={'***' if row.secret and value else value!r}"
            for row in table()
            if (value := getattr(self, row.attribute)) != row.default
        )
        return f"Settings({', '.join(shown)})"


def table() -> tuple[Setting, ...]:
    """Every setting, in the order of the page above."""
    return _TABLE


def _row(field: dataclasses.Field[Any]) -> Setting:
    row = dict(field.metadata)
    name = row.pop("name") or field.name.upper()
    default = field.default
    setting = Setting(attribute=field.name, name=name, kind=_KINDS[type(default)], default=default, **row)
    return dataclasses.replace(setting, sample=written(setting)) if setting.sample == "default" else setting


def written(setting: Setting) -> str:
    """The default, as it would be set."""
    if isinstance(setting.default, bool):
        return str(setting.default).lower()
    if isinstance(setting.default, tuple):
        return setting.separator.join(setting.default)
    return f"{setting.default:g}" if isinstance(setting.default, float) else str(setting.default)


_TABLE = tuple(_row(field) for field in dataclasses.fields(Settings))


def sample() -> str:
    """local.settings.json.sample: what a developer may set, each with its default."""
    values = {"FUNCTIONS_WORKER_RUNTIME": "python"}
    host_first = sorted(table(), key=lambda row: row.name != _HOST)
    values |= {row.name: row.sample for row in host_first if row.sample is not None}
    return json.dumps({"IsEncrypted": False, "Values": values}, indent=2) + "\n"


def markdown() -> str:
    """The table for the documentation."""
    lines = ["| setting | default | allowed | what for |", "|---|---|---|---|"]
    for row in table():
        default = f"`{written(row)}`" if row.default not in ("", ()) else ""
        secret = " (secret)" if row.secret else ""
        allowed = row.allowed.removeprefix("must be ").replace("|", "\\|")
        lines.append(f"| `{row.name}` | {default} | {allowed} | {row.about}{secret} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(sample() if sys.argv[1:] == ["sample"] else markdown())
