"""Bulk calls about nothing do nothing: they end without a turn of the event loop, a thread or a request."""

from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from services.ports import Store, utc_now
from services.store.cosmos import CosmosStore
from services.store.sqlite import SqliteStore


def result_at_once(call: Coroutine[Any, Any, Any]) -> Any:
    """The result of a call that must never wait."""
    with pytest.raises(StopIteration) as ended:
        call.send(None)
    return ended.value.value


@pytest.fixture(params=["sqlite", "cosmos"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "sqlite":
        return SqliteStore(tmp_path / "store.db", utc_now)
    return CosmosStore("http://127.0.0.1:9", "toolpulse", utc_now, key="a2V5")


def test_bulk_calls_without_documents_return_at_once(store: Store) -> None:
    assert result_at_once(store.batch_many("mentions", [])) == []
    assert result_at_once(store.create_many("mentions", [])) == []
    assert result_at_once(store.write_many("mentions", [])) is None
    assert result_at_once(store.read_many("mentions", [])) == []
