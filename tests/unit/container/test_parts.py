"""A worker loads and builds what its functions need, when they need it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import pytest

from services import container
from tests.builders import MemoryQueues

ROOT = Path(__file__).resolve().parents[3]

HEAVY = (
    "aiohttp",
    "azure.cosmos",
    "httpx",
    "resiliparse",
    "services.documents.pages",
    "services.mentions.analyzers.embedded",
    "services.mentions.prose",
    "services.operations.audit",
    "services.stories.grouping",
    "services.tools.detector",
    "services.workflows.merging",
)
"""What takes tens of milliseconds to load, with the tables and expressions that it needs."""

PROGRAM = """
import asyncio, json, sys, tempfile
import function_app
from services import container
from tests.builders import MemoryQueues
heavy = json.loads(sys.argv[1])
loaded = lambda: [name for name in heavy if name in sys.modules]
settings = {"DATA_DIR": tempfile.mkdtemp(), "AzureWebJobsStorage": "UseDevelopmentStorage=true"}
async def main():
    found = [loaded()]
    built = await container.build(settings)
    found.append(loaded())
    built.operations.upkeep, built.feeds.claims, built.operations.health, built.figures, built.tools
    found.append(loaded())
    built.mentions.analysis
    found.append(loaded())
    built.fetching.ingestion
    found.append(loaded())
    await built.close()
    print(json.dumps(found))
asyncio.run(main())
"""


def test_a_part_of_the_flow_is_loaded_when_its_first_service_is_asked_for() -> None:
    command = [sys.executable, "-c", PROGRAM, json.dumps(HEAVY)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    indexed, built, ticking, analysing, ingesting = map(set, json.loads(done.stdout))
    assert (indexed, built, ticking) == (set(), set(), set())
    assert {"services.tools.detector", "services.mentions.prose"} <= analysing
    assert analysing & {"httpx", "resiliparse", "services.operations.audit"} == set()
    assert ingesting - analysing >= {"httpx", "services.documents.pages"}
    assert ingesting & {"azure.cosmos", "services.operations.audit"} == set()


async def test_the_articles_of_one_poll_are_sent_to_analysis_a_hundred_a_second(tmp_path: Path) -> None:
    queues = MemoryQueues()
    built = await container.build({"DATA_DIR": str(tmp_path)}, queues=queues)
    await built.announce([f"dedup:{number:032x}" for number in range(250)], "feed", before=100)
    assert queues.sendings == [("analyze-articles", 1), ("analyze-articles", 2), ("analyze-articles", 3)]
    await built.close()


async def test_a_credential_that_a_later_part_makes_is_closed_with_the_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed = []

    class Credential:
        async def close(self) -> None:
            closed.append(self)

    identity = SimpleNamespace(DefaultAzureCredential=Credential)
    monkeypatch.setitem(sys.modules, "azure.identity.aio", cast(ModuleType, identity))
    settings = {"DATA_DIR": str(tmp_path), "AzureWebJobsStorage": "UseDevelopmentStorage=true"}
    settings |= {"ANALYZER": "azure-language", "AZURE_LANGUAGE_ENDPOINT": "https://language.example/"}
    built = await container.build(settings)
    assert built.mentions.analysis
    assert closed == []
    await built.close()
    assert len(closed) == 1
