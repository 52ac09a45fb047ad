"""`feeds`: the registry of feeds. `hosts`: what they are fetched from. `import`: feeds and tools from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from toolpulse.call import Call, content_of, without_nothing, writable
from toolpulse.commands.tools import applied, reported
from toolpulse.declare import MaybeFile, NoWait, Text, command, group
from toolpulse.failures import FAILED, WRONG_USAGE, Failure
from toolpulse.made import a_deletion, a_list, a_run, an_act, an_item

feeds = group("List and change feeds, and see how they are.")
hosts = group("See the hosts that feeds are fetched from, and which hosts fail.")

ByVerdict = Annotated[str | None, typer.Option("--verdict", help="Only feeds with this verdict, such as failing.")]
ByTag = Annotated[str | None, typer.Option("--tag", help="Only feeds with this tag.")]
ByHost = Annotated[str | None, typer.Option("--host", help="Only feeds that are fetched from this host.")]
Enabled = Annotated[bool | None, typer.Option("--enabled/--disabled", help="Only feeds that are so.")]
Url = Annotated[str | None, typer.Argument(metavar="[URL]", help="Of a feed, or of a page that links to it.")]
Values = Annotated[list[str] | None, typer.Option("--value", metavar="NAME=VALUE", help="Of the preset; repeatable.")]
OPML = "text/x-opml"


def add_to(app: typer.Typer) -> None:
    app.add_typer(feeds, name="feeds")
    command(app, "import")(import_)
    app.add_typer(hosts, name="hosts")


def _advise(call: Call, found: list[dict[str, Any]]) -> None:
    """What to do about each verdict."""
    for verdict, what in {each["verdict"]: each["verdict_advice"] for each in found}.items():
        if verdict not in (None, "ok"):
            call.out.say(f"{verdict}: {what}")


def _new(_call: Call, _path: str, given: dict[str, Any]) -> dict[str, Any]:
    """The body of a new feed. Without a name, that is the host."""
    url, values = given.pop("url"), _values(given.pop("value")) or None
    if url is None and "preset" not in given:
        raise Failure("give a URL or a --preset: see `toolpulse feeds presets`", WRONG_USAGE)
    named = {"source_name": _host(url)} if "preset" not in given else {}
    return {**named, **given, **without_nothing(url=url, values=values)}


def _host(url: str) -> str:
    try:
        return urlsplit(url.removeprefix("feed:")).hostname or url
    except ValueError:
        return url


def _values(given: list[str] | None) -> dict[str, str]:
    pairs = [each.partition("=") for each in given or ()]
    for name, found, value in pairs:
        if not name or not found:
            raise Failure(f"--value: {name + found + value!r} is not NAME=VALUE", WRONG_USAGE)
    return {name: value for name, _, value in pairs}


def _show_preview(call: Call, found: dict[str, Any]) -> None:
    call.out.item({name: value for name, value in found.items() if name != "samples"})
    call.out.section("entries", found["samples"], ["published_at", "headline", "url"])


def _preset(_call: Call, preset: dict[str, Any]) -> list[dict[str, Any]]:
    return [{**preset, "values": " ".join(f"{each['name']}={each['example']}" for each in preset["values"])}]


a_list(
    feeds, "list", "list_feeds", ["source_name", "verdict", "priority", "last_successful_fetch", "url", "feed_id"],
    limit=0, none="There are no such feeds: add one with `toolpulse feeds add URL`.",
)  # fmt: skip
a_list(
    feeds, "health", "list_feeds", ["source_name", "verdict", "verdict_since", "verdict_reason", "feed_id"],
    limit=0, none="None.", after=_advise, sort="verdict", without=["reverse"],
    keep=lambda feed: feed["enabled"] or feed.get("disabled_by") != "person",
    about="List the verdict on each feed that no person disabled, with its reason; those that need you first.",
)  # fmt: skip
an_item(feeds, "show", "get_feed")
a_list(
    feeds, "history", "list_feed_history",
    ["started_at", "status", "status_code", "articles_found", "articles_new", "error_message", "run_id"],
)  # fmt: skip
an_act(
    feeds, "add", "add_feed", without=["url", "values", "id"], extra={"url": Url, "value": Values}, before=_new,
    prints="feed_id", notes={201: "added; it is fetched when the app runs", 200: "already known"},
    about="Add a feed by its URL, by the URL of a page that links to it, or by a preset.",
)  # fmt: skip
an_act(feeds, "change", "change_feed", prints="feed_id", waits=True)
a_run(feeds, "fetch", "fetch_feed")
a_deletion(feeds, "delete", "delete_feed", "{feed_id}")
an_act(feeds, "preview", "preview_feed", arguments=["url"], show=_show_preview, failed=lambda each: not each["is_feed"])
a_list(feeds, "presets", "list_presets", ["preset", "values", "about", "url"], rows=_preset)
a_list(
    hosts, "list", "list_hosts",
    ["host", "feeds", "failing_feeds", "next_fetch_time", "failing.reason", "failing.cools_until"],
    none="No feed is fetched from such a host.",
)  # fmt: skip
an_item(hosts, "show", "get_host")


@command(feeds, "bulk", action="BulkAction.action")
def bulk(
    call: Call,
    action: Annotated[str, typer.Argument(help="What to do with each of them.")],
    verdict: ByVerdict = None,
    tag: ByTag = None,
    host: ByHost = None,
    text: Text = None,
    enabled: Enabled = None,
    with_: Annotated[list[str] | None, typer.Option("--with", metavar="TAG", help="The tag to give or take.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would change.")] = False,
) -> int:
    """Enable, disable, tag, untag or fetch all feeds that meet the filters."""
    by = without_nothing(verdict=verdict, tag=tag, host=host, text=text, enabled=enabled)
    body = {"action": action, "filter": by, "dry_run": dry_run, **without_nothing(tags=with_)}
    results = acted(call, body)
    rows = [{**each, "feed": call.names.of_feed(each["feed_id"])} for each in results] if call.out.is_table else []
    columns = ["feed", "outcome", "reason", "run_id", "feed_id"]
    call.out.rows(results, columns, none="No feed meets the filter.", shown=rows)
    return FAILED if any(each["outcome"] == "refused" for each in results) else 0


def acted(call: Call, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The results of one action on all feeds, page by page."""
    results: list[dict[str, Any]] = []
    cursor = None
    while True:
        report = call.client.post("feeds/bulk", {**body, **without_nothing(cursor=cursor)})
        results += report["items"]
        cursor = report["next"]
        if cursor is None:
            return results


@command(feeds, "apply")
def apply(
    call: Call,
    file: Annotated[Path, typer.Argument(help="A YAML list of feeds, such as config/feeds.yaml.")],
    no_wait: NoWait = False,
) -> int:
    """Add and change feeds to match a YAML list; those that it does not name stay."""
    return applied(call, "feeds", content_of(file), wait=not no_wait)


@command(feeds, "export")
def export(call: Call, file: MaybeFile = None) -> None:
    """Write all feeds as OPML."""
    document = call.client.text("feeds/export").content
    if file is None:
        print(document.decode(), end="")
    else:
        writable(file).write_bytes(document)


def import_(
    call: Call,
    file: Annotated[Path, typer.Argument(help="An OPML file, or a YAML list of feeds or tools.")],
    no_wait: NoWait = False,
) -> int:
    """Add the feeds of an OPML file; or add and change feeds or tools to match a YAML list."""
    document = content_of(file)
    if document.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        return reported(call, call.client.upload("feeds/import", document, OPML))
    is_of_tools = any(line.startswith(b"tools:") for line in document.splitlines())
    return applied(call, "tools" if is_of_tools else "feeds", document, wait=not no_wait)
