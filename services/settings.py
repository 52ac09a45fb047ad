"""The table of all settings, and their values from the environment and config/ingestion.yaml.

`Settings.from_environment` reads what it is given and reports all wrong values together; nothing is read at import. A
setting's name is its attribute in upper case, unless its row gives another name. The settings of the news APIs follow
from the entries in services/parse/news_apis.py.
`python -m scripts.settings` prints the table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self
from urllib.parse import urlsplit

from models.errors import WrongSettings
from services.parse.news_apis import NEWS_APIS, NewsApi
from services.setting import (
    ADDRESSES,
    AGENTS,
    DATABASE,
    DEFAULT_FILE,
    DSN,
    FILE_SETTING,
    INSIGHTS,
    NO_FILE,
    TICKERS,
    URL,
    Configuration,
    Setting,
    read_file,
    row_of,
    setting,
)

_AZURE_COSMOS = (".documents.azure.com", ".documents.azure.us", ".documents.azure.cn")
SHORTEST_MANAGEMENT_KEY = 32
_AUTH = ("function", "anonymous")
_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")
_STORES = ("sqlite", "cosmos")
_ARCHIVES = ("folder", "blob")
_AGENT = ("toolpulse (feed reader; its operator gave no contact)",)
HOST: Final = "AzureWebJobsStorage"
_EMULATOR: Final = "UseDevelopmentStorage=true"


_SECTIONS = ("fetcher", "scheduler", "parser", "processor", "events", "monitoring")
"""The blocks of config/ingestion.yaml: their settings are declared with the name of the block."""
_fetcher, _scheduler, _parser, _processor, _events, _monitoring = (partial(setting, section=name) for name in _SECTIONS)


@dataclass(frozen=True, slots=True)
class ApiAccess:
    """The settings of one news API. Without a token the API is not polled; an empty `base_url` is the API's default."""

    token: str = dataclasses.field(repr=False)
    base_url: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked settings. `store` is always `sqlite` or `cosmos`, `archive` always `folder` or `blob`; other settings
    without a value have their default."""

    # Configuration
    configuration_file: str = setting(
        DEFAULT_FILE, "The file with the settings of ingestion, from the app's folder", sample=None
    )

    # Storage
    store: str = setting(
        "", "Where documents are stored; if not set, cosmos with COSMOS_ENDPOINT, else sqlite", choices=_STORES
    )
    data_dir: str = setting(".data", "Folder of the SQLite store and of the archive")
    cosmos_endpoint: str = setting("", "URL of the Cosmos DB account, or of an emulator", form=URL)
    cosmos_key: str = setting(
        "", "Key of an emulator; for an account in Azure, the app signs in with its identity", secret=True
    )
    cosmos_database: str = setting("toolpulse", "Name of the Cosmos DB database", form=DATABASE)

    archive: str = setting(
        "",
        "Where full texts are kept; if not set, blob on Azure or with another ARCHIVE_ setting, else folder",
        choices=_ARCHIVES,
    )
    archive_endpoint: str = setting(
        "", "URL of the storage account of the archive; if not set, the host's storage account", form=URL
    )
    archive_connection: str = setting(
        "", "Connection string of an emulator; on Azure, the app signs in with its identity", secret=True
    )

    # Sources
    news_apis: Mapping[str, ApiAccess] = dataclasses.field(default_factory=dict)
    """The access to each news API, by the API's name. services/parse/news_apis.py defines these settings."""
    api_tickers: tuple[str, ...] = setting(
        (), "Tickers to request from news APIs, in addition to those of the tools", separator=",", form=TICKERS
    )

    # Fetcher
    max_concurrent_requests: int = _fetcher(128, "Maximum concurrent fetches per instance", between=(1, 256))
    max_concurrent_requests_per_host: int = _fetcher(
        0, "Maximum concurrent fetches per host; 0 means 2, and no limit for this machine", between=(0, 64)
    )
    request_timeout_seconds: float = _fetcher(
        10.0, "Timeout of one attempt at a fetch, redirects included, in seconds", between=(1, 120)
    )
    retry_attempts: int = _fetcher(3, "Maximum attempts per fetch, including the first", between=(1, 10))
    retry_backoff_base: float = _fetcher(
        2.0,
        "Base of the exponential backoff: before attempt n, a fetch waits up to base^(n - 2) seconds",
        between=(1, 10),
    )
    fetch_user_agent: tuple[str, ...] = _fetcher(
        _AGENT,
        "User-Agent header of fetches, with a contact; several values are rotated",
        separator="|",
        form=AGENTS,
        key="user_agent",
    )
    allow_private_addresses: bool | tuple[str, ...] = setting(
        False,
        "Allows feeds at private or loopback addresses: all, none, or the listed ones; for development only",
        form=ADDRESSES,
        separator=",",
    )

    # Schedule
    fetch_cycle_interval_seconds: int = _scheduler(
        30, "Seconds between polls for due feeds, rounded down to a multiple of 30", between=(30, 3600)
    )
    min_refresh_interval_minutes: float = _scheduler(
        1.0, "Minimum interval between scheduled fetches of a feed, in minutes", between=(1, 1440)
    )
    max_refresh_interval_minutes: float = _scheduler(
        15.0,
        "Maximum interval between scheduled fetches, in minutes, unless the feed fails or asks for a longer one",
        between=(1, 1440),
    )
    target_articles_per_fetch: int = _scheduler(
        5, "New articles per fetch that the schedule aims at, from the average rate of the feed", between=(1, 1000)
    )
    fetch_budget_per_feed_hour: float = _scheduler(
        8.0, "Average fetches per feed and hour over all feeds; the largest part of the cost", between=(1, 60)
    )

    # Ingestion
    dedup_cache_size: int = _parser(
        10000, "Maximum entry hashes that an instance caches in memory, to save reads", between=(0, 1_000_000)
    )
    dedup_retention_days: int = _parser(
        7, "Minimum days for which the hash of an entry is stored; it is stored for 30", between=(1, 30)
    )
    batch_size: int = _processor(100, "Maximum articles per message of analyze-articles", between=(1, 100))
    max_queue_size: int = _processor(
        1000, "Maximum feeds in the queue; the other due feeds wait for a later tick", between=(1, 100_000)
    )

    # Stories
    grouping_threshold_articles: int = _events(
        10, "Number of waiting articles that starts the grouping into stories", between=(1, 10_000)
    )
    grouping_interval_minutes: int = _events(
        5, "Minutes after which waiting articles are grouped, however few", between=(1, 1440)
    )

    # Analysis
    analyzer: str = setting("embedded", "Analyzer that scores sentiment", choices=("embedded", "azure-language"))
    azure_language_endpoint: str = setting("", "URL of the Azure AI Language resource", form=URL)
    azure_language_key: str = setting(
        "", "Key of that resource; without a key, the app signs in with its identity", secret=True
    )

    sentiment_candidate_file: str = setting(
        "", "File with another table of the embedded analyzer, to compare its scores as the analyzer `candidate`"
    )

    # Cache
    cache_memory_seconds: float = setting(
        2.0, "Seconds for which an instance serves an aggregate from memory; 0 disables this", between=(0, 60)
    )

    # Access
    read_auth_level: str = setting("function", "Whether read requests need a function key", choices=_AUTH)
    management_key: str = setting(
        "", "Key that management requests must send in X-Management-Key; if not set, they need none", secret=True
    )

    # Monitoring
    log_level: str = _monitoring(
        "INFO", "Minimum level of log lines; alerts on Azure need INFO or DEBUG", choices=_LEVELS
    )
    structured_logging: bool = _monitoring(True, "Whether log lines are JSON; alerts on Azure need JSON")
    metrics_enabled: bool = _monitoring(True, "Whether GET metrics is served; if false, it returns 404")
    metrics_port: int = _monitoring(
        9090,
        "No effect: a Function App has one port; metrics are served by GET metrics",
        between=(1, 65535),
        has_effect=False,
    )
    sentry_dsn: str = setting("", "DSN of Sentry, for lines logged at ERROR and above", form=DSN, secret=True)

    telemetry_sample_ratio: float = _monitoring(0.02, "Share of traces that are exported", between=(0, 1))
    telemetry_connection: str = setting(
        "",
        "Connection string of Application Insights; if not set, there is no telemetry",
        name="APPLICATIONINSIGHTS_CONNECTION_STRING",
        form=INSIGHTS,
        sample=None,
    )

    # The host
    storage_connection: str = setting(
        "", "Connection string of the storage account with the queues", name=HOST, secret=True, sample=_EMULATOR
    )
    storage_account_name: str = setting(
        "", "Name of that account, if the app signs in with its identity", name=f"{HOST}__accountName", sample=None
    )
    storage_queue_service_uri: str = setting(
        "",
        "URL of that account's queues, if not the public one",
        name=f"{HOST}__queueServiceUri",
        form=URL,
        sample=None,
    )
    storage_client_id: str = setting("", "Client ID of that identity", name=f"{HOST}__clientId", sample=None)
    storage_credential: str = setting(
        "", "`managedidentity`, to sign in with that identity", name=f"{HOST}__credential", sample=None
    )
    website_site_name: str = setting("", "Name of the Function App; Azure sets it", sample=None)

    @property
    def on_azure(self) -> bool:
        return bool(self.website_site_name)

    @classmethod
    def load(cls, environment: Mapping[str, str], apis: Sequence[NewsApi] = NEWS_APIS) -> Self:
        """Reads the configuration file and the environment. Raises WrongSettings as `from_environment`."""
        file = read_file(environment.get(FILE_SETTING, "").strip(), table(apis))
        return cls.from_environment(environment, apis, file)

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str],
        apis: Sequence[NewsApi] = NEWS_APIS,
        file: Configuration = NO_FILE,
    ) -> Self:
        """The checked settings: the environment wins over `file`, and `file` over the defaults. Raises WrongSettings,
        which names every wrong setting of both and its rule.

        A blank variable counts as not set. Variables that are not in the table are ignored.
        """
        values: dict[str, Any] = dict(file.values)
        wrong: dict[str, str] = {}
        for row in table(apis):
            text = environment.get(row.name, "").strip()
            if text:
                try:
                    values[row.attribute] = row.read(text)
                except ValueError as error:
                    wrong[row.name] = str(error)
        if not values.get("store"):
            values["store"] = "cosmos" if environment.get("COSMOS_ENDPOINT", "").strip() else "sqlite"
        if not values.get("archive"):
            of_blobs = ("ARCHIVE_ENDPOINT", "ARCHIVE_CONNECTION", "WEBSITE_SITE_NAME")
            values["archive"] = "blob" if any(environment.get(name, "").strip() for name in of_blobs) else "folder"
        access = {
            api.name: ApiAccess(values.pop(f"{api.name}_token", ""), values.pop(f"{api.name}_base_url", ""))
            for api in apis
        }
        settings = cls(**values, news_apis=access)
        for name, problem in settings._contradictions():
            wrong.setdefault(name, problem)
        problems = [*file.problems, *(f"{name} {problem}" for name, problem in sorted(wrong.items()))]
        if problems:
            raise WrongSettings(*problems)
        return settings

    def _contradictions(self) -> Iterator[tuple[str, str]]:
        """Settings that do not fit together: the name of the setting to change, and the problem."""
        if self.store == "cosmos" and not self.cosmos_endpoint:
            yield "COSMOS_ENDPOINT", "must be set if STORE is cosmos"
        if self.store == "sqlite" and self.on_azure:
            yield "STORE", "must be cosmos on Azure, because instances share no disk"
        if self.archive == "folder" and self.on_azure:
            yield "ARCHIVE", "must be blob on Azure, because instances share no disk"
        if self.archive_connection and self.on_azure:
            yield "ARCHIVE_CONNECTION", "must not be set on Azure: the app signs in with its identity"
        if self.archive_connection and self.archive_endpoint:
            yield "ARCHIVE_ENDPOINT", "must not be set together with ARCHIVE_CONNECTION"
        host = (urlsplit(self.cosmos_endpoint).hostname or "").rstrip(".")
        if self.cosmos_key and host.endswith(_AZURE_COSMOS):
            yield "COSMOS_KEY", "must not be set for an account in Azure: the app signs in with its identity"
        if self.min_refresh_interval_minutes > self.max_refresh_interval_minutes:
            yield "MIN_REFRESH_INTERVAL_MINUTES", "must be at most MAX_REFRESH_INTERVAL_MINUTES"
        if self.analyzer == "azure-language" and not self.azure_language_endpoint:
            yield "AZURE_LANGUAGE_ENDPOINT", "must be set if ANALYZER is azure-language"
        if self.on_azure and len(self.management_key) < SHORTEST_MANAGEMENT_KEY:
            yield "MANAGEMENT_KEY", f"must have at least {SHORTEST_MANAGEMENT_KEY} characters on Azure"
        if not self.fetch_user_agent:
            yield "FETCH_USER_AGENT", "must have at least one value"


def table(apis: Sequence[NewsApi] = NEWS_APIS) -> tuple[Setting, ...]:
    """Every setting, in the order of the class."""
    return _TABLE if apis is NEWS_APIS else tuple(_rows(apis))


def _rows(apis: Sequence[NewsApi]) -> Iterator[Setting]:
    for field in dataclasses.fields(Settings):
        if field.name == "news_apis":
            for api in apis:
                yield from _api_rows(api)
        else:
            yield row_of(field.name, field)


def _api_rows(api: NewsApi) -> Iterator[Setting]:
    about = f"Token of {api.title}; without a token, {api.title} is not polled"
    token = row_of(f"{api.name}_token", setting("", about, secret=True))
    base_url = row_of(f"{api.name}_base_url", setting(api.base_url, f"Base URL of {api.title}'s API", form=URL))
    return (dataclasses.replace(row, api=api.name) for row in (token, base_url))


_TABLE = tuple(_rows(NEWS_APIS))
