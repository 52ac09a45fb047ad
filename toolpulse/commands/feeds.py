"""`feeds`: the registry of feeds. `hosts`: what they are fetched from. `import`: feeds and tools from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from toolpulse.call import Call, content_of, most, without_nothing, writable
from toolpulse.client import part
from toolpulse.commands.tools import applied, reported
from toolpulse.declare import command, group
from toolpulse.failures import FAILED, WRONG_USAGE, Failure
from toolpulse.made import a_deletion, a_list, a_run, an_item
from toolpulse.options import Feed, Limit, MaybeFile, NoWait, Text

feeds = group("List and change feeds, and see how they are.")

ByVerdict = Annotated[str | None, typer.Option("--verdict", help="Only feeds with this verdict, such as failing.")]
ByTag = Annotated[str | None, typer.Option("--tag", help="Only feeds with this tag.")]
ByHost = Annotated[str | None, typer.Option("--host", help="Only feeds that are fetched from this host.")]
Enabled = Annotated[bool | None, typer.Option("--enabled/--disabled", help="Only feeds that are so.")]
Name = Annotated[str | None, typer.Option("--name", help="The name of the source.")]
Priority = Annotated[float | None, typer.Option("--priority", help="Higher is fetched first; 1 if not given.")]
SourcePriority = Annotated[int | None, typer.Option("--source-priority", help="1 to 999: the reading of the lowest is the canonical one.")]  # fmt: skip  # noqa: E501
Credential = Annotated[str | None, typer.Option("--credential", metavar="SETTING", help="Name of the setting FEED_CREDENTIAL_… of a private feed.")]  # fmt: skip  # noqa: E501
ReadPages = Annotated[str | None, typer.Option("--full-text", help="Whether to read the pages of entries.")]
DailyLimit = Annotated[int | None, typer.Option("--daily-limit", help="Most new articles in a day.")]
OPML = "text/x-opml"
_OF_HEALTH = ["source_name", "verdict", "verdict_since", "verdict_reason", "feed_id"]


def add_to(app: typer.Typer) -> None:
    app.add_typer(feeds, name="feeds")
    command(app, "import")(import_)
    app.add_typer(hosts, name="hosts")


a_list(
    feeds, "list", "list_feeds", ["source_name", "verdict", "priority", "last_successful_fetch", "url", "feed_id"],
    limit=0, none="There are no such feeds: add one with `toolpulse feeds add URL`.",
)  # fmt: skip
an_item(feeds, "show", "get_feed")
a_list(
    feeds, "history", "list_feed_history",
    ["started_at", "status", "status_code", "articles_found", "articles_new", "error_message", "run_id"],
)  # fmt: skip
a_run(feeds, "fetch", "fetch_feed")
a_deletion(feeds, "delete", "delete_feed", "{feed_id}")


@command(feeds, "health")
def health(
    call: Call,
    verdict: ByVerdict = None,
    tag: ByTag = None,
    host: ByHost = None,
    text: Text = None,
    limit: Limit = 0,
) -> None:
    """List the verdict on each feed that no person disabled, with its reason; those that need you first."""
    by = without_nothing(verdict=verdict, tag=tag, host=host, text=text)
    listed = call.listed("feeds", most(limit), **by, sort="verdict", view=call.view)
    found = [each for each in listed if each["enabled"] or each.get("disabled_by") != "person"]
    call.out.rows(found, _OF_HEALTH, none="None." if by else "No feed is enabled.")
    if call.out.is_table:
        advice = {each["verdict"]: each["verdict_advice"] for each in found}
        for of_verdict, what in advice.items():
            if of_verdict not in (None, "ok"):
                call.out.say(f"{of_verdict}: {what}")


@command(feeds, "add", full_text="NewFeed.full_text")
def add(
    call: Call,
    url: Annotated[
        str | None, typer.Argument(metavar="[URL]", help="Of a feed, or of a page that links to it.")
    ] = None,
    preset: Annotated[str | None, typer.Option(help="One of `feeds presets`, instead of a URL.")] = None,
    value: Annotated[
        list[str] | None, typer.Option("--value", metavar="NAME=VALUE", help="Of the preset; repeatable.")
    ] = None,
    name: Name = None,
    feed_id: Annotated[str | None, typer.Option("--id", help="Its id; derived from the URL if not given.")] = None,
    priority: Priority = None,
    source_priority: SourcePriority = None,
    credential: Credential = None,
    full_text: ReadPages = None,
    daily_limit: DailyLimit = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="A tag, such as News/World; repeatable.")] = None,
    disabled: Annotated[bool, typer.Option("--disabled", help="Do not fetch it yet.")] = False,
) -> None:
    """Add a feed by its URL, by the URL of a page that links to it, or by a preset; prints its id."""
    if url is None and preset is None:
        raise Failure("give a URL or a --preset: see `toolpulse feeds presets`", WRONG_USAGE)
    fields = without_nothing(
        url=url, preset=preset, values=_values(value), source_name=name or _host(url if preset is None else None),
        feed_id=feed_id, priority=priority, source_priority=source_priority, credential=credential,
        full_text=full_text, daily_limit=daily_limit, tags=tag, enabled=False if disabled else None,
    )  # fmt: skip
    response = call.client.send("POST", "feeds", body=fields)
    feed = response.json()
    call.out.say("added; it is fetched when the app runs" if response.status_code == 201 else "already known")
    call.out.made(feed, "feed_id")


def _host(url: str | None) -> str | None:
    try:
        return urlsplit(url.removeprefix("feed:") if url else "").hostname or url
    except ValueError:
        return url


def _values(given: list[str] | None) -> dict[str, str] | None:
    pairs = [each.partition("=") for each in given or ()]
    for name, found, value in pairs:
        if not name or not found:
            raise Failure(f"--value: {name + found + value!r} is not NAME=VALUE", WRONG_USAGE)
    return {name: value for name, _, value in pairs} or None


@command(feeds, "change", full_text="FeedChange.full_text")
def change(
    call: Call,
    feed: Feed,
    new_url: Annotated[str | None, typer.Option("--new-url", metavar="URL", help="Another URL.")] = None,
    name: Name = None,
    priority: Priority = None,
    source_priority: SourcePriority = None,
    credential: Credential = None,
    full_text: ReadPages = None,
    daily_limit: DailyLimit = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Replaces all tags; repeatable.")] = None,
    enabled: Annotated[bool | None, typer.Option("--enable/--disable", help="Whether the feed is fetched.")] = None,
    no_wait: NoWait = False,
) -> int:
    """Change a feed."""
    fields = without_nothing(
        url=new_url, source_name=name, priority=priority, source_priority=source_priority, credential=credential,
        full_text=full_text, daily_limit=daily_limit, tags=tag, enabled=enabled,
    )  # fmt: skip
    if not fields:
        raise Failure("nothing to change: see `toolpulse feeds change --help`", WRONG_USAGE)
    changed = call.client.patch(f"feeds/{part(call.names.feed(feed))}", fields)
    call.out.made(changed, "feed_id")
    return call.finished(changed.get("run_id"), wait=not no_wait)


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


@command(feeds, "preview")
def preview(
    call: Call, url: Annotated[str, typer.Argument(help="Of a feed, or of a page.")], credential: Credential = None
) -> int:
    """Look at a URL before it is added: the feed that is there, its newest entries, or why there is none."""
    found = call.client.post("feeds/preview", {"url": url, **without_nothing(credential=credential)})
    if not call.out.is_table:
        call.out.item(found)
    else:
        call.out.item({name: value for name, value in found.items() if name != "samples"})
        if found["samples"]:
            print()
            call.out.table(found["samples"], ["published_at", "headline", "url"])
    return 0 if found["is_feed"] else FAILED


@command(feeds, "presets")
def presets(call: Call) -> None:
    """List the presets for `feeds add`, with an example of their values."""
    found = call.client.get("presets")["items"]
    rows = [{**each, "values": " ".join(f"{value['name']}={value['example']}" for value in each["values"])}
            for each in found]  # fmt: skip
    call.out.rows(found, ["preset", "values", "about", "url"], none="There are no presets.", shown=rows)


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


hosts = group("See the hosts that feeds are fetched from, and which hosts fail.")
_COLUMNS = ["host", "feeds", "failing_feeds", "next_fetch_time", "failing.reason", "failing.cools_until"]

a_list(hosts, "list", "list_hosts", _COLUMNS, none="No feed is fetched from such a host.")
an_item(hosts, "show", "get_host")
