"""With a wrong setting, no function does anything, and each says which setting is wrong."""

from pathlib import Path

import pytest

from models.errors import WrongSettings
from services import container
from tests.functional.api.conftest import FUNCTIONS, call
from tests.functional.api.test_access import MANAGEMENT, READING

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
