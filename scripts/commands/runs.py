"""Carries out the run of a command in this process."""

from __future__ import annotations

from models.run import JobRun
from scripts.commands.printed import say
from services.container import Container


async def carried_out(app: Container, run: JobRun) -> int:
    """Works on the run to its end, and returns the exit code. If interrupted, the app's clean_up resumes the run."""
    result = await app.workflows.advance(run.run_id)
    while result.send_again:
        say(f"{(await app.runs.get(run.run_id)).progress} done")
        result = await app.workflows.advance(run.run_id)
    for tool_id in result.changed_tools:
        await app.figures.generations.invalidate_tool_cache(tool_id)
    done = await app.runs.get(run.run_id)
    say(f"{done.workflow_name} {done.status}: {', '.join(f'{count} {name}' for name, count in done.metrics.items())}")
    for error in done.errors:
        say(f"  {error}")
    return 0 if done.status == "SUCCEEDED" else 1
