"""`articles` and `documents`: what was ingested, why it was put together, and the full texts behind it."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from toolpulse.call import Call
from toolpulse.client import part
from toolpulse.declare import command, group
from toolpulse.failures import Failure
from toolpulse.made import a_list, an_act, an_item

articles = group("List articles, show where they come from, and correct what was put together.")
documents = group("Show and acquire the full texts behind articles.")


def add_to(app: typer.Typer) -> None:
    app.add_typer(articles, name="articles")
    app.add_typer(documents, name="documents")


def _row(call: Call, article: dict[str, Any]) -> dict[str, Any]:
    sources = [call.names.of_feed(each) for each in article["sources"]]
    more = f" +{len(sources) - 1}" if len(sources) > 1 else ""
    said = article["sentiment"] or (article["status"] if article["status"] != "analyzed" else "unscored")
    return {**article, "sentiment": said, "from": f"{sources[0]}{more}" if sources else ""}


def _show(call: Call, found: dict[str, Any]) -> None:
    canonical = found["canonical"]
    fields = {"url": canonical["url"], "published": found["timestamp"], "publisher": found.get("publisher_name")}
    names = ("status", "sentiment", "score", "language", "tags", "event_id", "near_duplicate_of", "source_id")
    call.out.line(found["headline"])
    call.out.item({**fields, **{name: found.get(name) for name in names}})
    mentions = [{**each, "tool": call.names.of_tool(each["tool_id"])} for each in found["mentions"]]
    call.out.section("mentions", mentions, ["tool", "sentiment", "score", "polarity", "role", "verdict"])
    sources = [{"source": call.names.of_feed(name), **each} for name, each in found["source_attribution"].items()]
    call.out.section("sources", sources, ["source", "crawl_timestamp", "url", "joined_by"])
    rows = [{**each, "source": call.names.of_feed(each["source"])} for each in found.get("observations", ())]
    call.out.section("observations", rows, ["observed_day", "source", "sentiment", "headline", "url"])


def _show_ledger(call: Call, found: dict[str, Any]) -> None:
    call.out.table(reasons(call, found), OF_REASONS)


OF_REASONS = ["headline", "what", "rule", "score", "fields", "with"]


def reasons(call: Call, entry: dict[str, Any]) -> list[dict[str, Any]]:
    """Why an article is what it is, in rows."""
    found = [("source", {**each, "source": call.names.of_feed(each["source"])}) for each in entry["sources"]]
    if entry["near_duplicate"]:
        found.append(("near-duplicate", entry["near_duplicate"]))
    if entry["story"] and entry["story"]["reason"]:
        found.append(("story", entry["story"]["reason"]))
    return [
        {"headline": entry["headline"], "what": what, "with": reason.get("with_article") or reason.get("source"),
         "rule": reason["rule"], "score": reason.get("score"), "fields": reason.get("fields")}
        for what, reason in found
    ]  # fmt: skip


def _show_document(call: Call, found: dict[str, Any]) -> None:
    names = ["acquisition_status", "skip_reason", "validation_status", "last_error_fingerprint", "quarantine_id"]
    waits = ["next_eligible_attempt_at"] if found["eligibility"] == "ACQUIRE" else []
    call.out.item(found, [name for name in (*names, *waits) if name in found])
    if not found["attempts"]:
        call.out.say("No attempt was made yet.")
    columns = ["attempt_no", "started_at", "status", "duration_ms", "error_fingerprint"]
    call.out.section("attempts", found["attempts"], columns)


def _show_acquired(call: Call, document: dict[str, Any]) -> None:
    call.out.line(f"{document['source_id']}: {document['acquisition_status']}, to be acquired now")


a_list(articles, "list", "list_articles", ["timestamp", "sentiment", "headline", "from", "source_id"], row=_row)
an_item(articles, "show", "get_article", _show)
an_item(articles, "ledger", "get_article_ledger", _show_ledger)
an_act(articles, "split", "split_article", arguments=["source"], prints="correction_id")
an_item(documents, "show", "get_document", _show_document)
an_act(documents, "acquire", "acquire_document", show=_show_acquired)


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
