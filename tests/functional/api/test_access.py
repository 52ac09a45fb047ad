"""What changes things takes the management key besides the function key; what reads does not. With a wrong setting, no
function does anything, and each says which setting is wrong."""

import re
from pathlib import Path

import pytest

from models.errors import WrongSettings
from services import container
from services.container import Container
from tests.functional.api.conftest import FUNCTIONS, TRIGGERS, call
from triggers.contract import contract, of_app

MANAGED_READS = {
    "export_corrections",
    "get_correction",
    "get_grouping_correction",
    "list_corrections",
    "list_grouping_corrections",
    "list_merges",
    "list_quarantine",
    "list_queues",
    "preview_quarantine",
}
"""What only reads, and shows what an operator sees or names people."""


ENDPOINTS = {name: trigger for name, trigger in TRIGGERS.items() if trigger["type"] == "httpTrigger"}
METHODS = {name: {str(method).upper() for method in each["methods"]} for name, each in ENDPOINTS.items()}
READING = sorted(name for name, methods in METHODS.items() if "GET" in methods and name not in MANAGED_READS)
MANAGEMENT = sorted(METHODS.keys() - set(READING))
IDS = {name: "nobody" for each in ENDPOINTS.values() for name in re.findall(r"{(\w+)}", each["route"])}


async def test_management_takes_the_key_and_reading_takes_none(locked: None) -> None:
    for name in MANAGEMENT:
        for key in (None, "sesamo"):
            answer = await call(name, key=key, **IDS)
            assert (answer.status, answer.mimetype, answer.sent) == (401, "application/problem+json", []), name
        assert (await call(name, key="sesame", **IDS)).status != 401, name
    for name in READING:
        assert (await call(name, **IDS)).status != 401, name


def test_the_contract_wants_the_management_key_where_the_app_does() -> None:
    endpoints = [
        each for methods in contract(of_app(), reads_are_open=False)["paths"].values() for each in methods.values()
    ]
    names = {each["operationId"] for each in endpoints}
    wanted = {each["operationId"] for each in endpoints if any("managementKey" in key for key in each["security"])}
    assert wanted == names & set(MANAGEMENT)


def test_the_reads_that_need_the_key_are_endpoints() -> None:
    assert all(METHODS[name] == {"GET", "HEAD"} for name in MANAGED_READS)


async def test_a_body_of_a_type_that_any_page_can_send_changes_nothing(app: Container) -> None:
    body = b'{"url": "https://example.com/feed", "source_name": "Example"}'
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = await call("add_feed", body=body, content_type=content_type)
        assert (answer.status, answer.mimetype) == (415, "application/problem+json")
    assert (await call("list_feeds")).json["items"] == []
    assert (await call("add_feed", body=body)).status == 201


WITHOUT_SETTINGS = {"get_dashboard", "get_docs", "get_openapi", "start"}
"""Pages and the contract: files of the app, which no setting changes."""


async def test_every_endpoint_answers_503_and_names_the_setting_without_its_value(
    environment: pytest.MonkeyPatch,
) -> None:
    environment.setenv("BATCH_SIZE", "hunter2")
    for name in sorted({*MANAGEMENT, *READING, "health"} - WITHOUT_SETTINGS):
        answer = await call(name)
        assert (answer.status, answer.mimetype, answer.sent) == (503, "application/problem+json", []), name
        assert "BATCH_SIZE must be a whole number from 1 to 100" in answer.json["detail"], name
        assert b"hunter2" not in answer.body
    for name in WITHOUT_SETTINGS:
        assert (await call(name)).status in (200, 302), name


async def test_queues_that_are_not_configured_are_a_wrong_setting(environment: pytest.MonkeyPatch) -> None:
    environment.delenv("AzureWebJobsStorage")
    answer = await call("list_feeds")
    assert answer.status == 503
    assert "AzureWebJobsStorage must be set" in answer.json["detail"]


async def test_the_app_answers_once_the_setting_is_right(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("BATCH_SIZE", "hunter2")
    assert (await call("list_feeds")).status == 503
    environment.setenv("BATCH_SIZE", "100")
    assert (await call("list_feeds")).status == 200
    await container.close()


async def test_a_function_without_http_raises_the_error(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("BATCH_SIZE", "hunter2")
    with pytest.raises(WrongSettings, match="BATCH_SIZE"):
        await FUNCTIONS["ingest_feeds"]("{}")


async def test_the_app_works_with_the_values_of_the_configuration_file(
    environment: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "ingestion.yaml"
    file.write_text("ingestion:\n  monitoring:\n    metrics_enabled: false\n")
    environment.setenv("CONFIGURATION_FILE", str(file))
    assert (await call("get_metrics")).status == 404
    await container.close()
