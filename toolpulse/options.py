"""Options and arguments that several commands have, under one name and with one meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from toolpulse.completing import feeds, tools

Tool = Annotated[str, typer.Argument(metavar="TOOL", help="Name, alias or id of a tool.", autocompletion=tools)]
Feed = Annotated[str, typer.Argument(metavar="FEED", help="Name, title, URL or id of a feed.", autocompletion=feeds)]
Article = Annotated[str, typer.Argument(metavar="ARTICLE", help="Id of an article, or words that only one has.")]
Story = Annotated[str, typer.Argument(metavar="STORY", help="Id of a story, or words that only one has.")]
Run = Annotated[str, typer.Argument(metavar="RUN", help="Its id, the beginning of it, or last.")]
ByTool = Annotated[
    str | None,
    typer.Option("--tool", metavar="TOOL", help="Only about this tool: name, alias or id.", autocompletion=tools),
]
ByFeed = Annotated[
    str | None, typer.Option("--feed", metavar="FEED", help="Only of this feed: name, URL or id.", autocompletion=feeds)
]
BySubject = Annotated[str | None, typer.Option("--subject", metavar="NAME", help="Only about this feed, tool or article.")]  # fmt: skip  # noqa: E501
Limit = Annotated[int, typer.Option("--limit", metavar="N", help="At most so many; 0 is all.")]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="At or after this time, such as 2026-02-21T20:00:00Z.")]  # fmt: skip  # noqa: E501
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Before this time.")]
Text = Annotated[str | None, typer.Option("--text", metavar="WORDS", help="Only with these words.")]
Author = Annotated[str, typer.Option("--author", metavar="NAME", help="Who says so.")]
Reason = Annotated[str | None, typer.Option("--reason", metavar="TEXT", help="Why.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Do not wait for the run that does the work.")]
MaybeFile = Annotated[Path | None, typer.Argument(metavar="[FILE]", help="Default: standard output.")]


ByPeriod = Annotated[str, typer.Option("--period", case_sensitive=False, help="The window.")]
