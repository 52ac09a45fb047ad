"""`articles`, `documents`, `stories`, `signals`: what was ingested, why it was put together, and what it suggests for
tools."""

from __future__ import annotations

from typing import Any

import typer

from toolpulse.call import Call
from toolpulse.declare import group
from toolpulse.made import a_deletion, a_list, an_act, an_item

articles = group("List articles, show where they come from, and correct what was put together.")
documents = group("List, show, read and acquire the full texts behind articles.")
stories = group("List stories, show them with their articles, and correct them.")


def add_to(app: typer.Typer) -> None:
    app.add_typer(articles, name="articles")
    app.add_typer(documents, name="documents")
    app.add_typer(stories, name="stories")
    a_list(
        app, "signals", "list_signals", ["timestamp", "tool", "kind", "reason", "headline", "event_id"], of_tool=True,
        about="List the latest signals: what stories suggest for tools.",
    )  # fmt: skip


def _row(call: Call, article: dict[str, Any]) -> list[dict[str, Any]]:
    sources = [call.names.of_feed(each) for each in article["sources"]]
    more = f" +{len(sources) - 1}" if len(sources) > 1 else ""
    said = article["sentiment"] or (article["status"] if article["status"] != "analyzed" else "unscored")
    return [{**article, "sentiment": said, "from": f"{sources[0]}{more}" if sources else ""}]


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
    call.out.table(_reasons(call, found), _OF_REASONS)


_OF_REASONS = ["headline", "what", "rule", "score", "fields", "with"]


def _reasons(call: Call, entry: dict[str, Any]) -> list[dict[str, Any]]:
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
    names = ["acquisition_status", "skip_reason", "validation_status", "last_error_fingerprint"]
    names += ["quarantine_id", "manual_review_status", "quarantine_reason"]
    waits = ["next_eligible_attempt_at"] if found["eligibility"] == "ACQUIRE" else []
    call.out.item(found, [name for name in (*names, *waits) if name in found])
    if not found["attempts"]:
        call.out.say("No attempt was made yet.")
    columns = ["attempt_no", "started_at", "status", "duration_ms", "error_fingerprint"]
    call.out.section("attempts", found["attempts"], columns)
    files = [{**each, "made_by": each["created_by"]["workflow"]} for each in found["files"]]
    call.out.section("files", files, ["file_id", "byte_length", "sha256", "made_by", "created_at"])


def _show_file(call: Call, found: dict[str, Any]) -> None:
    for line in found["text"].splitlines():
        call.out.line(line)


def _show_acquired(call: Call, document: dict[str, Any]) -> None:
    call.out.line(f"{document['source_id']}: {document['acquisition_status']}, to be acquired now")


def _show_story(call: Call, found: dict[str, Any]) -> None:
    call.out.line(found["headline"])
    call.out.line(f"{found['state']}, {found['published_at']} to {found['timestamp']}")
    rows = [{**each, "publisher": each["publisher_name"],
             "why": "begins the story" if each["reason"] is None else each["reason"]["rule"]}
            for each in found["members"]]  # fmt: skip
    call.out.section("articles", rows, ["published_at", "publisher", "sentiment", "why", "headline", "source_id"])
    columns = ["tool", "articles", "positive_count", "negative_count", "neutral_count", "average_sentiment"]
    call.out.section("tools", found["tools"], columns)


a_list(articles, "list", "list_articles", ["timestamp", "sentiment", "headline", "from", "source_id"], rows=_row)
an_item(articles, "show", "get_article", _show)
an_item(articles, "ledger", "get_article_ledger", _show_ledger)
an_act(articles, "split", "split_article", arguments=["source"], prints="correction_id")
a_list(
    *(documents, "list", "list_documents"),
    ["created_at", "acquisition_status", "validation_status", "next_eligible_attempt_at", "url", "source_id"],
    rows=lambda _call, each: [{**each, "url": each["locators"][0]["value"]}],
)
an_item(documents, "show", "get_document", _show_document)
an_item(documents, "read", "get_document_file", _show_file)
an_act(documents, "acquire", "acquire_document", show=_show_acquired)
a_deletion(articles, "delete", "delete_article", "{article_id}", asks="Delete {article_id} and all its mentions?")
a_list(
    stories, "list", "list_stories", ["timestamp", "article_count", "publisher_count", "state", "headline", "event_id"]
)
an_item(stories, "show", "get_story", _show_story)
a_list(stories, "ledger", "get_story_ledger", _OF_REASONS, limit=0, rows=_reasons)
an_act(stories, "split", "split_story", arguments=["articles"], prints="correction_id")
an_act(stories, "join", "join_stories", arguments=["story"], prints="correction_id")
an_act(stories, "keep-apart", "keep_stories_apart", arguments=["story"], prints="correction_id")
