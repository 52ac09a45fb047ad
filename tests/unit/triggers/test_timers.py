"""A timer leaves a heartbeat, and its work counts whether or not that could be stored."""

import json
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from models.errors import Unavailable
from services import container
from services.topology import CLEAN_UP
from triggers.bindings import beating


@pytest.fixture(autouse=True)
async def of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[None]:
    monkeypatch.setenv("DATA_DIR", str(tmp_path))
    monkeypatch.setenv("AzureWebJobsStorage", "UseDevelopmentStorage=true")
    yield
    await container.close()


async def beats() -> dict[str, str | None]:
    found = await (await container.get()).heartbeats.list([CLEAN_UP.name])
    return {name: beat.last_error for name, beat in found.items()}


async def test_the_outcome_of_a_run_is_recorded() -> None:
    @beating(CLEAN_UP)
    async def works() -> None:
        pass

    @beating(CLEAN_UP)
    async def fails() -> None:
        raise ValueError("as asked")

    await works()
    assert await beats() == {"clean_up": None}
    with pytest.raises(ValueError, match="as asked"):
        await fails()
    assert await beats() == {"clean_up": "ValueError"}


async def test_a_run_whose_heartbeat_cannot_be_stored_has_still_done_its_work(caplog: pytest.LogCaptureFixture) -> None:
    @beating(CLEAN_UP)
    async def works() -> None:
        await (await container.get()).store.close()

    @beating(CLEAN_UP)
    async def fails() -> None:
        raise ValueError("as asked")

    with caplog.at_level(logging.WARNING):
        await works()
        with pytest.raises(ValueError, match="as asked"):
            await fails()
    events = [json.loads(record.message) for record in caplog.records if record.name == "toolpulse.heartbeats"]
    assert [(event["event"], event["timer"]) for event in events] == [("heartbeat_not_stored", "clean_up")] * 2


async def test_a_run_that_fails_without_the_store_is_logged_as_critical(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @beating(CLEAN_UP)
    async def counts() -> None:
        store = (await container.get()).store
        await store.close()
        await store.count("feeds")

    with pytest.raises(Unavailable):
        await counts()
    told = [json.loads(record.message) for record in caplog.records if record.levelno == logging.CRITICAL]
    assert [(each["event"], each["timer"]) for each in told] == [("system_unavailable", "clean_up")]
