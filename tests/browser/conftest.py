"""One browser and one app with demo data for all browser tests; every test has a page with a session of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.browser import chromium

if TYPE_CHECKING:
    from tests.browser.demo_app import DemoApp
    from tests.browser.visitor import Browsers

collect_ignore = (
    [] if chromium.available() else ["test_actions.py", "test_changes.py", "test_states.py", "test_views.py"]
)


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoApp]:
    from tests.browser.demo_app import DemoApp

    data: Path = tmp_path_factory.mktemp("demo")
    app = DemoApp(data)
    try:
        app.start()
        app.settle()
        yield app
    finally:
        app.kill()


@pytest.fixture(scope="session")
def browsers() -> Iterator[Browsers]:
    from tests.browser.visitor import Browsers

    with Browsers.opened() as browsers:
        yield browsers
