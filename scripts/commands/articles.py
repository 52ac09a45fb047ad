"""`ingest` fetches articles in this process and exports them; `sources` counts them by source."""

from __future__ import annotations

import argparse
import asyncio
import json
from dataclasses import asdict
from pathlib import Path

from models.run import IngestionBatch
from scripts.commands.form import Group
from scripts.commands.printed import say, show
from services.container import Container
from services.feeds.claims import IngestMessage
from services.operations.export import Layer

RUNS_AT_ONCE = 4
_PAGE = 500


def add_to(commands: Group) -> None:
    """Declares the commands of this module."""
    listing = commands.command(
        "sources", sources, "count the articles of the last 24 hours by source, with their average age"
    )
    listing.add_argument("--json", action="store_true", help="as JSON")
    fetch = commands.command("ingest", ingest, "fetch feeds now, in this process")
    fetch.add_argument("--all", action="store_true", required=True, help="all enabled feeds, due or not")
    fetch.add_argument("--export", type=Path, metavar="FILE", help="then write all stored articles as JSON")
    fetch.add_argument(
        "--raw-all-sources",
        action="store_true",
        help="export the observation of each source, not the canonical reading of each article",
    )


async def sources(app: Container, given: argparse.Namespace) -> int:
    rows = [asdict(each) for each in await app.overview.sources()]
    columns = ["source_name", "article_count", "avg_age_hours"]
    show(rows, columns, as_json=given.json, none="No article was published in the last 24 hours.")
    return 0


async def ingest(app: Container, given: argparse.Namespace) -> int:
    """Fetches each enabled feed once. The articles are announced to the app (messages.py). Fails if every fetch did."""
    if given.export is not None and (given.export.is_dir() or not given.export.absolute().parent.is_dir()):
        say(f"--export: must be a file in an existing folder, not {given.export}")
        return 1
    batches = await app.claims.claim_every(app.clock())
    total, done = sum(len(batch.feeds) for batch in batches), 0
    gate = asyncio.Semaphore(RUNS_AT_ONCE)

    async def one(batch: IngestMessage) -> IngestionBatch:
        nonlocal done
        async with gate:
            await app.ingestion.ingest(batch)
            run = await app.runs.get(batch.run_id)
            assert isinstance(run, IngestionBatch)
            done += len(batch.feeds)
            say(f"{done} of {total} feeds: {_summed(run)}")
            return run

    runs = await asyncio.gather(*(one(batch) for batch in batches))
    for error in (error for run in runs for error in run.errors):
        say(f"  {error}")
    print(f"feeds: {total}, {_summed(*runs)}")
    if given.export is not None:
        layer: Layer = "raw" if given.raw_all_sources else "canonical"
        print(f"exported from the {layer} layer: {await as_array(app, layer, given.export)}, to {given.export}")
    ended = {attempt.get("status") for run in runs for attempt in run.attempts}
    if "FAILED" in ended and "SUCCEEDED" not in ended:
        say("no feed could be fetched: `feeds health` says what each one needs")
        return 1
    return 0


def _summed(*runs: IngestionBatch) -> str:
    stored = sum(run.metrics.articles_stored for run in runs if run.metrics)
    joined = sum(run.metrics.collisions_detected for run in runs if run.metrics)
    errors = sum(len(run.errors) for run in runs)
    return f"new articles: {stored}, known from another source: {joined}, errors: {errors}"


async def as_array(app: Container, layer: Layer, path: Path) -> int:
    """Writes the layer as one JSON array, and returns the number of items. The file appears when it is complete."""
    count = 0
    after: str | None = None
    unfinished = path.with_name(path.name + ".part")
    with unfinished.open("w", encoding="utf-8") as file:
        while True:
            exported = await app.export.page(layer, _PAGE, after)
            for item in (each for each in exported.items if not each.get("removed")):
                file.write(("[\n" if count == 0 else ",\n") + json.dumps(item, ensure_ascii=False))
                count += 1
            after = exported.next
            if after is None:
                break
        file.write("\n]\n" if count else "[]\n")
    unfinished.replace(path)
    return count
