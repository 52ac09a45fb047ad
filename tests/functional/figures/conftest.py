"""A store for a cache, at a time that stands still until it is moved."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from tests.builders import Watch

NOW = datetime(2026, 2, 21, 20, 17, 31, tzinfo=UTC)


@pytest.fixture
def watch() -> Watch:
    return Watch(NOW)
