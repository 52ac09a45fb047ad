"""Refreshes the figures of a tool with one period more, HOUR_6: run as a script.

python -m tests.functional.figures.another_period FILE TOOL NOW

Only `Period` and `PERIODS` of models/cache.py are changed, as CONTRIBUTING.md says. Prints the entries.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
from datetime import datetime
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[3]


def add_the_period() -> None:
    """Imports models/cache.py with the period, before anything else imports it."""
    path = ROOT / "models" / "cache.py"
    source = path.read_text("utf-8")
    for before, after in (
        ('Literal["HOUR_1", "HOUR_24",', 'Literal["HOUR_1", "HOUR_6", "HOUR_24",'),
        ('    "HOUR_24": timedelta(hours=24),', '    "HOUR_6": timedelta(hours=6), "HOUR_24": timedelta(hours=24),'),
    ):
        assert source.count(before) == 1
        source = source.replace(before, after)
    spec = importlib.util.spec_from_file_location("models.cache", path)
    assert spec is not None
    module = ModuleType("models.cache")
    module.__spec__ = spec
    sys.modules["models.cache"] = module
    exec(compile(source, str(path), "exec"), module.__dict__)


async def main(path: str, tool_id: str, at: str) -> None:
    from services.store.sqlite import SqliteStore
    from tests.functional.figures.world import Process

    now = datetime.fromisoformat(at)
    store = SqliteStore(Path(path), lambda: now)
    process = Process(store, lambda: now)
    refreshed = await process.cache.refresh.refresh_tools([tool_id])
    assert refreshed.done == [tool_id], refreshed
    found = {}
    for period in ("HOUR_1", "HOUR_6", "HOUR_24", "DAY_7", "DAY_30"):
        served = await process.cache.reader.read(tool_id, period)  # type: ignore[arg-type]
        found[period] = [served.state, served.entry.total_mentions]
    sys.stdout.write(json.dumps(found))
    await process.close()
    await store.close()


if __name__ == "__main__":
    add_the_period()
    asyncio.run(main(*sys.argv[1:]))
