"""With a wrong setting, no function does anything, and each says which setting is wrong."""

import pytest

from models.errors import WrongSettings
from services import container
from tests.functional.api.conftest import FUNCTIONS, call
from tests.functional.api.test_access import MANAGEMENT, READING


@pytest.mark.parametrize("name", [*MANAGEMENT, *READING, "health"])
async def test_every_endpoint_answers_503_and_names_the_setting_without_its_value(
    environment: pytest.MonkeyPatch, name: str
) -> None:
    environment.setenv("BATCH_SIZE", "hunter2")
    answer = await call(name)
    assert (answer.status, answer.mimetype, answer.sent) == (503, "application/problem+json", [])
    assert answer.json["title"] == "Not configured"
    assert "BATCH_SIZE must be a whole number from 1 to 100" in answer.json["detail"]
    assert b"hunter2" not in answer.body


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
