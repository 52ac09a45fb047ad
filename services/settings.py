"""The table of all settings: name, type, default, allowed values, whether the value is secret, and a description.

`Settings.from_environment` reads the mapping that it is given and reports all wrong values together; nothing is read
at import. A setting's name is its attribute in upper case, unless its row gives another name. The settings of the news
APIs follow from the entries in services/parse/news_apis.py.
`python -m services.settings` prints the table, `python -m services.settings sample` prints local.settings.json.sample.
"""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any, Final, Literal, Self
from urllib.parse import urlsplit

from models.errors import WrongSettings
from services.parse.news_apis import NEWS_APIS, NewsApi

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
    """A rule for a text: `fits` checks it, `allowed` describes it in error messages."""

    fits: Callable[[str], object]
    allowed: str


@dataclass(frozen=True, slots=True)
class Setting:
    """One row of the table. `sample` is the value in local.settings.json.sample; None leaves the setting out."""

    attribute: str
    name: str
    kind: Kind
    default: Any
    description: str
    low: float
    high: float
    choices: tuple[str, ...]
    form: Form | None
    separator: str
    secret: bool
    sample: str | None
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


_URL = Form(_is_secure, "an https:// URL (http:// only to this machine) without user, query or fragment")
_DSN = Form(_is_dsn, "a DSN, https://KEY@HOST/PROJECT (http:// only to this machine)")
_DATABASE = Form(re.compile(r"[^/\\?#\s]{1,255}").fullmatch, r"1 to 255 characters without spaces or / \ ? #")
_TICKERS = Form(re.compile(r"[A-Z0-9][A-Z0-9.\-]{0,14}").fullmatch, "tickers in upper case, such as AAPL,MSFT,BRK.B")
_MODEL = Form(re.compile(r"[\w.\-]{1,40}").fullmatch, "a model version, such as latest or 2022-11-01")
_AGENTS = Form(re.compile(r"[\x20-\x7e]{1,300}").fullmatch, "printable ASCII, several separated by |")


def _setting(
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
) -> Any:
    row = {"description": description, "low": between[0], "high": between[1], "choices": choices, "form": form}
    row |= {"separator": separator, "secret": secret, "name": name, "sample": sample}
    return dataclasses.field(default=default, metadata=row)


_AUTH = ("function", "anonymous")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_STORES = ("sqlite", "cosmos")
_AGENT = ("toolpulse (feed reader; its operator gave no contact)",)
_HOST: Final = "AzureWebJobsStorage"
_EMULATOR: Final = "UseDevelopmentStorage=true"


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The settings of one news API. Without a token the API is not polled; an empty `base_url` is the API's default."""

    token: str = dataclasses.field(repr=False)
    base_url: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class Settings:
    """The checked settings. `store` is always `sqlite` or `cosmos`; other settings without a value have their
    default."""

    # Storage
    store: str = _setting(
        "", "Where documents are stored; if not set, cosmos with COSMOS_ENDPOINT, else sqlite", choices=_STORES
    )
    data_dir: str = _setting(".data", "Folder of the SQLite store")
    cosmos_endpoint: str = _setting("", "URL of the Cosmos DB account, or of an emulator", form=_URL)
    cosmos_key: str = _setting(
        "", "Key of an emulator; for an account in Azure, the app signs in with its identity", secret=True
    )
    cosmos_database: str = _setting("toolpulse", "Name of the Cosmos DB database", form=_DATABASE)
    cosmos_proxy_from_environment: bool = _setting(
        False, "Whether requests to Cosmos DB go through HTTPS_PROXY, at half the speed"
    )

    # Sources
    news_apis: Mapping[str, ApiAccess] = dataclasses.field(default_factory=dict)
    """The access to each news API, by the API's name. services/parse/news_apis.py defines these settings."""
    api_tickers: tuple[str, ...] = _setting(
        (), "Tickers to request from news APIs, besides those of the tools", separator=",", form=_TICKERS
    )

    # Fetcher
    max_concurrent_requests: int = _setting(128, "Most fetches at a time in one instance", between=(1, 256))
    max_concurrent_requests_per_host: int = _setting(
        0, "Most fetches at a time to one host; 0 is two, and no limit for this machine", between=(0, 64)
    )
    request_timeout_seconds: float = _setting(
        10.0, "Longest time for one try of a fetch with its redirects, in seconds", between=(1, 120)
    )
    retry_attempts: int = _setting(3, "Most tries of one fetch, the first included", between=(1, 10))
    retry_backoff_base: float = _setting(
        2.0, "The wait before try n is this to the power of n - 2, in seconds, less up to half", between=(1, 10)
    )
    fetch_user_agent: tuple[str, ...] = _setting(
        _AGENT, "User-Agent of fetches, with a contact; several are used in turn", separator="|", form=_AGENTS
    )
    allow_private_addresses: bool = _setting(
        False, "Whether feeds may have private, loopback or link-local addresses; for development only"
    )

    # Schedule
    fetch_cycle_interval_seconds: int = _setting(
        30, "Seconds between searches for due feeds, rounded down to a multiple of 30", between=(30, 3600)
    )
    min_refresh_interval_minutes: float = _setting(
        1.0, "Shortest time between scheduled fetches of a feed, in minutes", between=(1, 1440)
    )
    max_refresh_interval_minutes: float = _setting(
        15.0,
        "Longest time between scheduled fetches, in minutes, unless the feed fails or asks for more",
        between=(1, 1440),
    )
    target_articles_per_fetch: int = _setting(
        5, "New articles after which a feed is due at the latest, by its average rate", between=(1, 1000)
    )
    fetch_budget_per_feed_hour: float = _setting(
        8.0, "Fetches per feed and hour, on average over all feeds; the largest part of the cost", between=(1, 60)
    )

    # Ingestion
    dedup_cache_size: int = _setting(
        10000, "Most hashes of entries that an instance keeps in memory, to save reads", between=(0, 1_000_000)
    )
    dedup_retention_days: int = _setting(7, "Days that the hash of an entry is stored", between=(1, 30))
    batch_size: int = _setting(100, "Most articles in one message to analyze-articles", between=(1, 100))
    max_queue_size: int = _setting(
        1000, "Most feeds that are claimed at a time; the others are fetched later", between=(1, 100_000)
    )

    # Stories
    grouping_threshold_articles: int = _setting(
        10, "No effect yet. Articles without a story at which grouping starts", between=(1, 10_000)
    )
    grouping_interval_minutes: int = _setting(
        5, "No effect yet. Longest time until grouping starts with fewer, in minutes", between=(1, 1440)
    )

    # Analysis
    analyzer: str = _setting("embedded", "Which analyzer scores sentiment", choices=("embedded", "azure-language"))
    azure_language_endpoint: str = _setting("", "URL of the Azure AI Language resource", form=_URL)
    azure_language_key: str = _setting(
        "", "Key of that resource; without a key, the app signs in with its identity", secret=True
    )
    azure_language_model_version: str = _setting(
        "latest",
        "Model of that resource; with latest, no reanalysis is offered after a new model",
        form=_MODEL,
    )

    # Cache
    cache_memory_seconds: float = _setting(
        2.0, "Seconds that an instance serves an aggregate from its memory; 0 turns that off", between=(0, 60)
    )

    # Access
    read_auth_level: str = _setting("function", "Whether requests that read need a function key", choices=_AUTH)
    management_key: str = _setting(
        "", "Key that requests for management need in X-Management-Key; if not set, they need none", secret=True
    )

    # Monitoring
    log_level: str = _setting(
        "INFO", "Lowest level that is logged; alerts on Azure need INFO or DEBUG", choices=_LEVELS
    )
    structured_logging: bool = _setting(True, "Whether log lines are JSON; alerts on Azure need JSON")
    metrics_enabled: bool = _setting(True, "Whether GET metrics is served; if false, it returns 404")
    metrics_port: int = _setting(9090, "No effect: Functions have one port, see GET metrics", between=(1, 65535))
    sentry_dsn: str = _setting("", "DSN of Sentry, for lines logged at ERROR and above", form=_DSN, secret=True)

    # The host
    storage_connection: str = _setting(
        "", "Connection string of the storage account with the queues", name=_HOST, secret=True, sample=_EMULATOR
    )
    storage_account_name: str = _setting(
        "", "Name of that account, if the app signs in with its identity", name=f"{_HOST}__accountName", sample=None
    )
    storage_queue_service_uri: str = _setting(
        "",
        "URL of that account's queues, if not the public one",
        name=f"{_HOST}__queueServiceUri",
        form=_URL,
        sample=None,
    )
    storage_client_id: str = _setting("", "Client id of that identity", name=f"{_HOST}__clientId", sample=None)
    storage_credential: str = _setting(
        "", "managedidentity, for that identity", name=f"{_HOST}__credential", sample=None
    )
    website_site_name: str = _setting("", "Name of the Function App; Azure sets it", sample=None)

    @property
    def on_azure(self) -> bool:
        return bool(self.website_site_name)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], apis: Sequence[NewsApi] = NEWS_APIS) -> Self:
        """Reads and checks all settings. Raises WrongSettings, which names every wrong setting and its rule.

        A blank value counts as not set. Variables that are not in the table are ignored.
        """
        values: dict[str, Any] = {}
        wrong: dict[str, str] = {}
        for setting in table(apis):
            text = environment.get(setting.name, "").strip()
            if text:
                try:
                    values[setting.attribute] = setting.read(text)
                except ValueError as error:
                    wrong[setting.name] = str(error)
        if not values.get("store"):
            values["store"] = "cosmos" if environment.get("COSMOS_ENDPOINT", "").strip() else "sqlite"
        access = {
            api.name: ApiAccess(values.pop(f"{api.name}_token", ""), values.pop(f"{api.name}_base_url", ""))
            for api in apis
        }
        settings = cls(**values, news_apis=access)
        for name, problem in settings._contradictions():
            wrong.setdefault(name, problem)
        if wrong:
            raise WrongSettings(*(f"{name} {problem}" for name, problem in sorted(wrong.items())))
        return settings

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings that do not fit together: the name of the setting to change, and the problem."""
        if self.store == "cosmos" and not self.cosmos_endpoint:
            yield "COSMOS_ENDPOINT", "must be set if STORE is cosmos"
        if self.store == "sqlite" and self.on_azure:
            yield "STORE", "must be cosmos on Azure, because instances share no disk"
        host = (urlsplit(self.cosmos_endpoint).hostname or "").rstrip(".")
        if self.cosmos_key and host.endswith(_AZURE_COSMOS):
            yield "COSMOS_KEY", "must not be set for an account in Azure: the app signs in with its identity"
        if self.min_refresh_interval_minutes > self.max_refresh_interval_minutes:
            yield "MIN_REFRESH_INTERVAL_MINUTES", "must be at most MAX_REFRESH_INTERVAL_MINUTES"
        if self.analyzer == "azure-language" and not self.azure_language_endpoint:
            yield "AZURE_LANGUAGE_ENDPOINT", "must be set if ANALYZER is azure-language"
        if not self.fetch_user_agent:
            yield "FETCH_USER_AGENT", "must have at least one value"

    def value(self, row: Setting) -> Any:
        """The value of one row of the table."""
        if row.api is None:
            return getattr(self, row.attribute)
        access = self.news_apis.get(row.api, ApiAccess(""))
        return access.token if row.secret else access.base_url or row.default

    def __repr__(self) -> str:
        shown = (
            f"{row.attribute}={'***' if row.secret and value else value!r}"
            for row in table()
            if (value := self.value(row)) != row.default
        )
        return f"Settings({', '.join(shown)})"


def table(apis: Sequence[NewsApi] = NEWS_APIS) -> tuple[Setting, ...]:
    """Every setting, in the order of the class."""
    return _TABLE if apis is NEWS_APIS else tuple(_rows(apis))


def _rows(apis: Sequence[NewsApi]) -> Iterator[Setting]:
    for field in dataclasses.fields(Settings):
        if field.name == "news_apis":
            for api in apis:
                yield from _api_rows(api)
        else:
            yield _row(field.name, field)


def _api_rows(api: NewsApi) -> Iterator[Setting]:
    about = f"Token of {api.title}; without a token, {api.title} is not polled"
    token = _row(f"{api.name}_token", _setting("", about, secret=True))
    base_url = _row(f"{api.name}_base_url", _setting(api.base_url, f"Base URL of {api.title}'s API", form=_URL))
    return (dataclasses.replace(row, api=api.name) for row in (token, base_url))


def _row(attribute: str, field: dataclasses.Field[Any]) -> Setting:
    row = dict(field.metadata)
    name = row.pop("name") or attribute.upper()
    default = field.default
    setting = Setting(attribute=attribute, name=name, kind=_KINDS[type(default)], default=default, **row)
    return dataclasses.replace(setting, sample=default_text(setting)) if setting.sample == "default" else setting


def default_text(setting: Setting) -> str:
    """The default as the text of an environment variable."""
    if isinstance(setting.default, bool):
        return str(setting.default).lower()
    if isinstance(setting.default, tuple):
        return setting.separator.join(setting.default)
    return f"{setting.default:g}" if isinstance(setting.default, float) else str(setting.default)


_TABLE = tuple(_rows(NEWS_APIS))


def sample() -> str:
    """The content of local.settings.json.sample: the settings for development, with their defaults."""
    values = {"FUNCTIONS_WORKER_RUNTIME": "python"}
    host_first = sorted(table(), key=lambda row: row.name != _HOST)
    values |= {row.name: row.sample for row in host_first if row.sample is not None}
    return json.dumps({"IsEncrypted": False, "Values": values}, indent=2) + "\n"


def markdown() -> str:
    """The table in Markdown."""
    lines = ["| setting | default | allowed | description |", "|---|---|---|---|"]
    for row in table():
        default = f"`{default_text(row)}`" if row.default not in ("", ()) else ""
        secret = " (secret)" if row.secret else ""
        allowed = row.allowed.removeprefix("must be ").replace("|", "\\|")
        lines.append(f"| `{row.name}` | {default} | {allowed} | {row.description}{secret} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(sample() if sys.argv[1:] == ["sample"] else markdown())
