"""All settings are checked together, no secret is shown, and the sample file matches the table."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import WrongSettings
from scripts.settings import markdown, sample
from services.parse.news_apis import NEWS_APIS
from services.setting import Setting
from services.settings import ApiAccess, Settings, table

ROOT = Path(__file__).parents[3]
SECRETS = [row for row in table() if row.secret]
BOUNDED = [row for row in table() if row.between[0] > float("-inf")]


URL = "an https:// URL (http:// only to this machine) without user, query or fragment"


def problems(**environment: str) -> str:
    with pytest.raises(WrongSettings) as caught:
        Settings.from_environment(environment)
    return str(caught.value)


def test_without_settings_store_and_archive_are_local_and_every_value_is_the_default() -> None:
    settings = Settings.from_environment({})
    assert (settings.store, settings.archive) == ("sqlite", "folder")
    for row in table():
        if row.attribute not in ("store", "archive") and row.api is None:
            assert getattr(settings, row.attribute) == row.default
    assert {*settings.news_apis.values()} == {ApiAccess("")}


def test_a_blank_value_counts_as_not_set() -> None:
    assert Settings.from_environment({"LOG_LEVEL": "  ", "BATCH_SIZE": ""}) == Settings.from_environment({})


def test_variables_that_are_no_settings_are_ignored() -> None:
    assert Settings.from_environment({"PATH": "/bin", "WEBSITE_HOSTNAME": "x"}) == Settings.from_environment({})


def test_all_wrong_values_are_reported_at_once_by_name_with_what_is_allowed() -> None:
    text = problems(BATCH_SIZE="0", LOG_LEVEL="LOUD", ALLOW_PRIVATE_ADDRESSES="maybe", API_TICKERS="AAPL,b c")
    assert "BATCH_SIZE must be a whole number from 1 to 100" in text
    assert "LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL" in text
    assert "ALLOW_PRIVATE_ADDRESSES must be true, false, or a list such as 127.0.0.1:7072,10.0.0.0/8" in text
    assert "API_TICKERS must be tickers in upper case" in text


@pytest.mark.parametrize("row", BOUNDED, ids=lambda row: row.name)
def test_numbers_outside_the_range_and_texts_that_are_no_number_are_refused(row: Setting) -> None:
    for text in (str(int(row.between[0]) - 1), str(int(row.between[1]) + 1), "nan", "inf", "many"):
        assert row.allowed in problems(**{row.name: text})
    for text in [f"{bound:.10g}" for bound in row.between]:
        if row.name != "MIN_REFRESH_INTERVAL_MINUTES":
            assert getattr(Settings.from_environment({row.name: text}), row.attribute) == float(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [(each, True) for each in ("TRUE", "1", "on", "yes")] + [(each, False) for each in ("False", "0", "no", "OFF")],
)
def test_true_and_false_have_several_spellings(text: str, meant: bool) -> None:
    assert Settings.from_environment({"METRICS_ENABLED": text}).metrics_enabled is meant


def test_choices_are_accepted_in_any_case_and_stored_as_listed() -> None:
    assert Settings.from_environment({"LOG_LEVEL": "warning"}).log_level == "WARNING"
    assert Settings.from_environment({"READ_AUTH_LEVEL": "Anonymous"}).read_auth_level == "anonymous"


def test_the_admin_level_is_never_allowed() -> None:
    assert "READ_AUTH_LEVEL must be one of function, anonymous" in problems(READ_AUTH_LEVEL="admin")


def test_several_user_agents_are_kept_in_order() -> None:
    settings = Settings.from_environment({"FETCH_USER_AGENT": "one/1 (a@b.org) | two/2 (a@b.org)"})
    assert settings.fetch_user_agent == ("one/1 (a@b.org)", "two/2 (a@b.org)")


def test_a_user_agent_cannot_contain_another_header() -> None:
    assert "FETCH_USER_AGENT" in problems(FETCH_USER_AGENT="one\r\nX-Evil: 1")
    assert "FETCH_USER_AGENT must have at least one value" in problems(FETCH_USER_AGENT="|")


def test_an_endpoint_without_a_store_means_cosmos() -> None:
    assert Settings.from_environment({"COSMOS_ENDPOINT": "https://a.documents.azure.com:443/"}).store == "cosmos"


ON_AZURE = {
    "WEBSITE_SITE_NAME": "abc",
    "COSMOS_ENDPOINT": "https://a.documents.azure.com",
    "MANAGEMENT_KEY": "x" * 32,
}


def test_sqlite_is_refused_on_azure() -> None:
    assert "STORE must be cosmos on Azure" in problems(WEBSITE_SITE_NAME="abc")
    assert Settings.from_environment(ON_AZURE).on_azure


def test_the_archive_is_a_folder_of_this_machine_unless_it_is_on_azure_or_named() -> None:
    for environment in (
        ON_AZURE,
        {"ARCHIVE_ENDPOINT": "https://a.blob.core.windows.net"},
        {"ARCHIVE_CONNECTION": "UseDevelopmentStorage=true"},
    ):
        assert Settings.from_environment(environment).archive == "blob"
    named = {"ARCHIVE": "folder", "ARCHIVE_CONNECTION": "UseDevelopmentStorage=true"}
    assert Settings.from_environment(named).archive == "folder"


def test_an_archive_that_instances_do_not_share_or_that_a_key_opens_is_refused_on_azure() -> None:
    assert problems(**ON_AZURE, ARCHIVE="folder").endswith(
        ": ARCHIVE must be blob on Azure, because instances share no disk"
    )
    text = problems(**ON_AZURE, ARCHIVE_CONNECTION="AccountName=a;AccountKey=b2Jz")
    assert text.endswith(": ARCHIVE_CONNECTION must not be set on Azure: the app signs in with its identity")
    assert "b2Jz" not in text
    both = problems(ARCHIVE_CONNECTION="UseDevelopmentStorage=true", ARCHIVE_ENDPOINT="https://a.example")
    assert both.endswith(": ARCHIVE_ENDPOINT must not be set together with ARCHIVE_CONNECTION")


@pytest.mark.parametrize("key", ["", " ", "x", "x" * 31])
def test_azure_needs_a_long_management_key(key: str) -> None:
    assert problems(**{**ON_AZURE, "MANAGEMENT_KEY": key}).endswith(
        ": MANAGEMENT_KEY must have at least 32 characters on Azure"
    )
    assert Settings.from_environment({"MANAGEMENT_KEY": key}).management_key == key.strip()


@pytest.mark.parametrize("host", ["a.documents.azure.com", "A.Documents.Azure.COM.", "a.documents.azure.us"])
def test_a_key_is_refused_for_an_account_in_any_cloud_of_azure(host: str) -> None:
    text = problems(COSMOS_ENDPOINT=f"https://{host}:443/", COSMOS_KEY="c2VjcmV0")
    assert text.endswith(": COSMOS_KEY must not be set for an account in Azure: the app signs in with its identity")


def test_a_key_is_accepted_for_an_emulator() -> None:
    environment = {"COSMOS_ENDPOINT": "http://127.0.0.1:8081", "COSMOS_KEY": "c2VjcmV0"}
    assert Settings.from_environment(environment).cosmos_key == "c2VjcmV0"


@pytest.mark.parametrize("name", ["COSMOS_ENDPOINT", "TIINGO_BASE_URL", "FINNHUB_BASE_URL"])
def test_urls_must_be_https_unless_they_are_on_this_machine(name: str) -> None:
    for url in ("http://localhost:1", "http://127.0.0.2:99/x", "http://[::1]:8081/", "https://api.example.com/v1"):
        Settings.from_environment({name: url})
    for url in ("http://10.0.0.1", "ftp://localhost", "example.com", "https://", "https://u:p@host", "https://h:99999"):
        assert f"{name} must be an https:// URL" in problems(**{name: url})


def test_the_shortest_interval_is_at_most_the_longest() -> None:
    text = problems(MIN_REFRESH_INTERVAL_MINUTES="20")
    assert "MIN_REFRESH_INTERVAL_MINUTES must be at most MAX_REFRESH_INTERVAL_MINUTES" in text


def test_an_unresolved_key_vault_reference_is_refused() -> None:
    text = problems(TIINGO_TOKEN="@Microsoft.KeyVault(SecretUri=https://v.vault.azure.net/secrets/t)")
    assert "TIINGO_TOKEN is an unresolved Key Vault reference" in text


def test_the_storage_identity_is_read_under_its_own_names() -> None:
    settings = Settings.from_environment(
        {
            "AzureWebJobsStorage__accountName": "account",
            "AzureWebJobsStorage__queueServiceUri": "https://account.queue.core.windows.net",
            "AzureWebJobsStorage__clientId": "id",
        }
    )
    assert settings.storage_account_name == "account"
    assert settings.storage_queue_service_uri == "https://account.queue.core.windows.net"
    assert settings.storage_client_id == "id"
    assert settings.storage_connection == ""


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12).map("~{}".format))
def test_secrets_are_in_no_repr_and_in_no_error(secret: str) -> None:
    dsn = f"https://{secret.encode().hex()}@errors.example/1"
    shown = repr(Settings.from_environment({row.name: secret for row in SECRETS} | {"SENTRY_DSN": dsn}))
    assert secret not in shown
    assert dsn not in shown
    every = {row.name: secret for row in table()}
    with pytest.raises(WrongSettings) as caught:
        Settings.from_environment(every)
    assert secret not in str(caught.value)


def test_the_sample_file_is_generated_from_the_table() -> None:
    assert (ROOT / "local.settings.json.sample").read_text() == sample(), (
        "run: python -m scripts.settings sample > local.settings.json.sample"
    )


def test_the_sample_sets_only_defaults_in_the_form_that_func_start_reads() -> None:
    parsed = json.loads(sample())
    assert parsed["IsEncrypted"] is False
    values = parsed["Values"]
    assert all(isinstance(value, str) for value in values.values())
    assert values["FUNCTIONS_WORKER_RUNTIME"] == "python"
    set_by_sample, defaults = Settings.from_environment(values), Settings.from_environment({})
    assert set_by_sample.storage_connection == "UseDevelopmentStorage=true"
    assert set_by_sample == replace(
        defaults, storage_connection="UseDevelopmentStorage=true", news_apis=set_by_sample.news_apis
    )
    assert {each.base_url for each in set_by_sample.news_apis.values()} == {api.base_url for api in NEWS_APIS}


def test_no_secret_is_in_the_sample() -> None:
    values = json.loads(sample())["Values"]
    assert [values[row.name] for row in SECRETS if row.name != "AzureWebJobsStorage"] == [""] * (len(SECRETS) - 1)


def test_the_documentation_names_every_setting_once() -> None:
    lines = markdown().splitlines()
    for row in table():
        assert sum(line.startswith(f"| `{row.name}` |") for line in lines) == 1


def test_settings_that_do_not_fit_together_are_named() -> None:
    assert problems(ANALYZER="azure-language", STORE="cosmos") == (
        "the settings of this app are wrong: AZURE_LANGUAGE_ENDPOINT must be set if ANALYZER is azure-language; "
        "COSMOS_ENDPOINT must be set if STORE is cosmos"
    )
    endpoint = "https://language.example"
    settings = Settings.from_environment({"ANALYZER": "azure-language", "AZURE_LANGUAGE_ENDPOINT": endpoint})
    assert (settings.analyzer, settings.azure_language_endpoint) == ("azure-language", endpoint)


@pytest.mark.parametrize(
    ("ticker", "is_possible"), [("A", True), ("BRK.B", True), ("A" * 15, True), ("A" * 16, False), (".A", False)]
)
def test_a_ticker_has_up_to_15_characters(ticker: str, is_possible: bool) -> None:
    if is_possible:
        assert Settings.from_environment({"API_TICKERS": f"MSFT, {ticker}"}).api_tickers == ("MSFT", ticker)
    else:
        assert "API_TICKERS must be tickers" in problems(API_TICKERS=ticker)


def test_the_settings_of_a_news_api_follow_from_its_entry() -> None:
    names = {row.name for row in table()} - {row.name for row in table(())}
    assert names == {"TIINGO_TOKEN", "TIINGO_BASE_URL", "FINNHUB_TOKEN", "FINNHUB_BASE_URL"}


KEY = "InstrumentationKey=00000000-0000-0000-0000-00000000000f"


@pytest.mark.parametrize("text", [KEY, f"{KEY};IngestionEndpoint=https://a.example/", f"LiveEndpoint=x;{KEY.lower()}"])
def test_a_connection_string_of_application_insights_is_accepted(text: str) -> None:
    assert Settings.from_environment({"APPLICATIONINSIGHTS_CONNECTION_STRING": text}).telemetry_connection == text


def test_private_addresses_may_be_listed() -> None:
    read = Settings.from_environment({"ALLOW_PRIVATE_ADDRESSES": "127.0.0.1:7072, 10.0.0.0/8"})
    assert read.allow_private_addresses == ("127.0.0.1:7072", "10.0.0.0/8")
    assert Settings.from_environment({"ALLOW_PRIVATE_ADDRESSES": "True"}).allow_private_addresses is True


@pytest.mark.parametrize(
    ("said", "texts"),
    [
        (
            "SENTRY_DSN must be a DSN",
            ["yes", "https://a.example/7", "https://key@a.example", "http://key@a.example/7", "://key@/7"],
        ),
        (
            "APPLICATIONINSIGHTS_CONNECTION_STRING must be a connection string of Application Insights",
            ["yes", "InstrumentationKey=1", "IngestionEndpoint=https://a.example/", f"x{KEY}"],
        ),
        (
            "ALLOW_PRIVATE_ADDRESSES must be ",
            ["maybe", "localhost:80", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:x", "10.0.0.1/8", "[::1]", "[::1]:"],
        ),
    ],
)
def test_a_text_of_another_form_is_refused(said: str, texts: list[str]) -> None:
    for text in texts:
        assert said in problems(**{said.partition(" ")[0]: text})
