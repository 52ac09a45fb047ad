"""`articles` and `documents`: what was ingested, why it was put together, and the full texts behind it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from toolpulse.call import Call, without_nothing
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.failures import Failure
from toolpulse.made import a_list, an_item
from toolpulse.options import Article, Author, Reason

articles = group("List articles, show where they come from, and correct what was put together.")
documents = group("Show and acquire the full texts behind articles.")

BySentiment = Annotated[str | None, typer.Option("--sentiment", help="Only these.")]


def add_to(app: typer.Typer) -> None:
    app.add_typer(articles, name="articles")
    app.add_typer(documents, name="documents")


def _row(call: Call, article: dict[str, Any]) -> dict[str, Any]:
    sources = [call.names.of_feed(each) for each in article["sources"]]
    more = f" +{len(sources) - 1}" if len(sources) > 1 else ""
    said = article["sentiment"] or (article["status"] if article["status"] != "analyzed" else "unscored")
    return {**article, "sentiment": said, "from": f"{sources[0]}{more}" if sources else ""}


a_list(articles, "list", "list_articles", ["timestamp", "sentiment", "headline", "from", "source_id"], row=_row)


def _show(call: Call, found: dict[str, Any]) -> None:
    canonical = found["canonical"]
    fields = {"url": canonical["url"], "published": found["timestamp"], "publisher": found.get("publisher_name")}
    names = ("status", "sentiment", "score", "language", "tags", "event_id", "near_duplicate_of", "source_id")
    call.out.line(found["headline"])
    call.out.item({**fields, **{name: found.get(name) for name in names}})
    mentions = [{**each, "tool": call.names.of_tool(each["tool_id"])} for each in found["mentions"]]
    _section(call, "mentions", mentions, ["tool", "sentiment", "score", "polarity", "role", "verdict"])
    sources = [{"source": call.names.of_feed(name), **each} for name, each in found["source_attribution"].items()]
    _section(call, "sources", sources, ["source", "crawl_timestamp", "url", "joined_by"])
    rows = [{**each, "source": call.names.of_feed(each["source"])} for each in found.get("observations", ())]
    _section(call, "observations", rows, ["observed_day", "source", "sentiment", "headline", "url"])


@command(articles, "show")
def show(
    call: Call,
    article: Article,
    raw: Annotated[bool, typer.Option("--raw", help="With what each source published.")] = False,
) -> None:
    """Show an article with its sources and mentions."""
    layer = "raw" if raw else None
    found = call.client.get(f"articles/{part(call.names.article(article))}", layer=layer, view=call.view)
    if call.out.is_table:
        _show(call, found)
    else:
        call.out.item(found)


def _section(call: Call, title: str, rows: list[dict[str, Any]], columns: list[str]) -> None:
    if rows:
        print(f"\n{title}")
        call.out.table(rows, columns)


@command(articles, "delete")
def delete(
    call: Call,
    article: Annotated[str, typer.Argument(help="The id of the article.")],
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
) -> None:
    """Delete an article with all mentions. It is not ingested again."""
    if not yes and not typer.confirm(f"Delete {article} and all its mentions?", err=True):
        raise Failure("nothing was deleted")
    call.client.delete(f"articles/{part(article)}")
    call.out.say(f"deleted: {article}")


@command(articles, "ledger")
def ledger(call: Call, article: Article) -> None:
    """Show why the sources, the near-duplicate and the story of an article were put together."""
    show_ledger(call, [call.client.get(f"articles/{part(call.names.article(article))}/ledger")])


def show_ledger(call: Call, entries: list[dict[str, Any]]) -> None:
    """Why each of these articles is what it is."""
    rows = [
        {"headline": each["headline"], "what": what, "with": reason.get("with_article") or reason.get("source"),
         "rule": reason["rule"], "score": reason.get("score"), "fields": reason.get("fields")}
        for each in entries
        for what, reason in _reasons(call, each)
    ]  # fmt: skip
    call.out.rows(entries, ["headline", "what", "rule", "score", "fields", "with"], none="None.", shown=rows)


def _reasons(call: Call, entry: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    found = [("source", {**each, "source": call.names.of_feed(each["source"])}) for each in entry["sources"]]
    if entry["near_duplicate"]:
        found.append(("near-duplicate", entry["near_duplicate"]))
    if entry["story"] and entry["story"]["reason"]:
        found.append(("story", entry["story"]["reason"]))
    return found


@command(articles, "split")
def split(
    call: Call,
    article: Article,
    source: Annotated[str, typer.Argument(help="The feed that becomes an article of its own.")],
    author: Author,
    reason: Reason = None,
) -> None:
    """Make a source of an article an article of its own; prints the id of the correction."""
    corrected(call, f"articles/{part(call.names.article(article))}/split", author, reason,
              source=call.names.feed(source))  # fmt: skip


def corrected(call: Call, path: str, author: str, reason: str | None, **fields: Any) -> None:
    """Makes a correction of articles or stories; prints its id."""
    made = call.client.post(path, {**fields, "author": author, **without_nothing(reason=reason)})
    call.out.made(made, "correction_id")


def _show_document(call: Call, found: dict[str, Any]) -> None:
    names = ["acquisition_status", "skip_reason", "validation_status", "last_error_fingerprint", "quarantine_id"]
    waits = ["next_eligible_attempt_at"] if found["eligibility"] == "ACQUIRE" else []
    call.out.item(found, [name for name in (*names, *waits) if name in found])
    if not found["attempts"]:
        call.out.say("No attempt was made yet.")
    columns = ["attempt_no", "started_at", "status", "duration_ms", "error_fingerprint"]
    _section(call, "attempts", found["attempts"], columns)


an_item(documents, "show", "get_document", _show_document)


@command(documents, "acquire")
def acquire(call: Call, article: Article) -> None:
    """Acquire an article's full text now, or again."""
    document = call.client.post(f"articles/{part(call.names.article(article))}/document")
    if call.out.is_table:
        call.out.line(f"{document['source_id']}: {document['acquisition_status']}, to be acquired now")
    else:
        call.out.item(document)
