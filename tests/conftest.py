"""What holds for every test, and what most of them start from: a time that stands still, and a store of their own."""

import ipaddress
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from services.logs import configure
from services.store.sqlite import SqliteStore
from tests.browser import chromium
from tests.builders import Watch
from tests.contract import azurite, cosmos_server
from tests.documents import NOW


def _stay_on_this_machine(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("socket.connect", "socket.sendto"):
        return
    address = arguments[1]
    if not isinstance(address, tuple) or not isinstance(address[0], str):
        return
    try:
        local = ipaddress.ip_address(address[0].split("%")[0]).is_loopback
    except ValueError:
        local = address[0] in ("localhost", "")
    if not local:
        raise AssertionError(f"a test tried to reach {address[0]}: tests talk to this machine only")


sys.addaudithook(_stay_on_this_machine)


def pytest_report_header() -> list[str]:
    return [cosmos_server.notice(), azurite.notice(), chromium.notice()]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The tests that wait for minutes begin first; the order of the others stays random."""
    items.sort(key=lambda each: "tests/functional/flow/" not in each.nodeid)


# A run finds what the run before found, on every machine. To look for more: --hypothesis-profile=search
_UNTIMED = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("steady", _UNTIMED, derandomize=True)
settings.register_profile("search", _UNTIMED, print_blob=True)
settings.load_profile("steady")


@pytest.fixture(autouse=True)
def default_log() -> None:
    """A test may have changed the level or the form of the log, which are those of the process."""
    configure("INFO", structured=True)


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)


@pytest.fixture
async def store(tmp_path: Path, watch: Watch) -> AsyncIterator[SqliteStore]:
    store = SqliteStore(tmp_path / "toolpulse.db", watch)
    yield store
    await store.close()
