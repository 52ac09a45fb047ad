"""What follows from a command: its run, carried out in this process."""

from __future__ import annotations

from models.run import JobRun
from scripts.commands.printed import say
from services.container import Container


async def carried_out(app: Container, run: JobRun) -> int:
    """Here and now, to its end; should this be interrupted, the app's clean_up goes on with it."""
    turn = await app.workflows.advance(run.run_id)
    while turn.goes_on:
        say(f"{(await app.runs.get(run.run_id)).progress} done")
        turn = await app.workflows.advance(run.run_id)
    for tool_id in turn.changed:
        await app.figures.generations.invalidate_tool_cache(tool_id)
    done = await app.runs.get(run.run_id)
    say(f"{done.workflow_name} {done.status}: {', '.join(f'{count} {name}' for name, count in done.metrics.items())}")
    for error in done.errors:
        say(f"  {error}")
    return 0 if done.status == "SUCCEEDED" else 1
