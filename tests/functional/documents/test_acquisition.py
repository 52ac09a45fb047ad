"""From the stub to the scored text, with pages of all kinds on a real server."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.feed import host_of_address
from services.documents.archived import MAX_SCORED
from tests.functional.documents.world import HEADLINE, TEXT, World, html, page
from tests.functional.fetch.conftest import response


async def test_the_full_text_is_stored_and_rescores_the_article(world: World) -> None:
    tool = await world.mentions.tool("Ferry")
    asked = await world.article(text="Ferry is a bad tool.")
    before = await world.mentions.read(asked.source_id)
    assert before.shown()["scored_text"] == "feed"
    polarity = (await world.mentions.mentions(tool))[asked.source_id].polarity
    world.server.answers["/story"] = page(etag='"v1"')
    document = await world.acquire(asked)

    assert (document.acquisition_status, document.validation_status) == ("ACQUIRED", "VALID")
    assert document.eligibility == "NONE"
    assert document.attempt_count == 1
    assert document.etag == '"v1"'
    assert document.extraction_profile_id == "general@1"
    assert document.header_signature_hash
    assert document.byte_length
    assert document.sha256
    assert document.characters == len("\n".join(TEXT))
    assert document.hints == {"host": host_of_address(asked.url), "language": "en"}
    assert document.provenance == {"asked_by": "FEED", "feed_id": asked.feed_id, "url": asked.url}
    assert document.profile_selection_inputs is not None
    assert document.profile_selection_inputs["hints"] == document.hints
    article = await world.mentions.read(asked.source_id)
    assert article.full_text is not None
    assert article.text_for_analysis == "Ferry is a bad tool."
    assert await world.archive.get(article.full_text.archive_key) == "\n".join(TEXT).encode()
    assert article.shown()["scored_text"] == "document"
    assert article.analysis_due_since is None
    assert "archive_key" not in article.shown()["full_text"]
    rescored = (await world.mentions.mentions(tool))[asked.source_id].polarity
    assert polarity is not None
    assert rescored is not None
    assert polarity < 0 < rescored
    await world.mentions.is_counted(tool)
    assert len(world.archived()) == 2


async def test_a_document_shows_its_files_and_attempts(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = [page(status=503), page()]
    assert (await world.acquire(asked)).acquisition_status == "FAILED_RETRYABLE"
    world.watch.advance(minutes=16)
    await world.clean_up()
    await world.deliver()
    shown = (await world.documents().get(asked.source_id, "full")).shown()
    assert shown["validation_status"] == "VALID"
    assert shown["eligibility"] == "NONE"
    assert [each["role"] for each in shown["files"]] == ["NORMALIZED", "RAW"]
    assert [each["status"] for each in shown["attempts"]] == ["SUCCEEDED", "FAILED"]
    assert shown["attempts"][1]["error_fingerprint"] == "SERVER_ERROR:503"
    assert all(each["ended_ms"] for each in shown["attempts"])
    runs = await world.runs()
    assert sorted((each["status"], each["progress"]) for each in runs) == [("FAILED", 1), ("SUCCEEDED", 1)]
    assert [each["metrics"] for each in runs if each["status"] == "SUCCEEDED"] == [{"acquired": 1}]


WITHHELD = {
    "payment required": (page(status=402), "PAYWALL"),
    "noarchive in the header": (page(X_Robots_Tag="noarchive"), "NOARCHIVE"),
    "a document of another kind": (page(b"%PDF-1.7", content_type="application/pdf"), "NOT_HTML"),
    "a page of 6 MB": (page(html(after=f"<!-- {'x' * 6_000_000} -->")), "TOO_LARGE"),
    "forbidden": (page(status=403), "REFUSED"),
    "gone": (page(status=410), "GONE"),
}


@pytest.mark.parametrize(("answer", "reason"), WITHHELD.values(), ids=WITHHELD)
async def test_what_a_site_does_not_give_is_skipped_with_the_reason(world: World, answer: bytes, reason: str) -> None:
    asked = await world.article()
    world.server.answers["/story"] = answer
    document = await world.acquire(asked)
    assert (document.acquisition_status, document.skip_reason) == ("SKIPPED_UNAVAILABLE", reason)
    assert document.eligibility == "NONE"
    assert world.archived() == []
    assert (await world.mentions.read(asked.source_id)).full_text is None
    assert [each.status for each in await world.attempts(asked.source_id)] == ["SUCCEEDED"]
    world.watch.advance(days=1)
    assert await world.clean_up() == 0


async def test_robots_txt_is_obeyed_and_asked_for_once_a_day(world: World) -> None:
    rules = "User-agent: *\nDisallow: /*private$\nAllow: /\n\nUser-agent: toolpulse\nDisallow: /closed\n"
    world.server.answers["/robots.txt"] = response(200, rules.encode(), content_type="text/plain")
    world.server.answers |= {"/closed/1": page(), "/open/private": page()}
    closed, open_ = await world.article(1, "/closed/1"), await world.article(2, "/open/private")
    assert (await world.acquire(closed, open_)).skip_reason == "ROBOTS"
    assert (await world.document(open_.source_id)).validation_status == "VALID"
    asked = [each.path for each in world.server.requests]
    assert asked == ["/robots.txt", "/open/private"]


async def test_a_host_whose_robots_txt_fails_is_asked_later(world: World) -> None:
    asked = await world.article()
    world.server.answers |= {"/robots.txt": [response(503), response(404)], "/story": page()}
    document = await world.acquire(asked)
    assert (document.acquisition_status, document.last_error_fingerprint) == ("FAILED_RETRYABLE", "ROBOTS_UNREACHABLE")
    assert [each.path for each in world.server.requests] == ["/robots.txt"]
    world.watch.advance(minutes=45)
    await world.clean_up()
    await world.deliver()
    assert (await world.document(asked.source_id)).validation_status == "VALID"


RULES = b"User-agent: *\nDisallow: /story\n"


@pytest.mark.parametrize(
    "rules",
    [
        b"\xef\xbb\xbf" + RULES,
        b"User-Agent: ToolPulse/1.0 \nDisallow: /story",
        RULES + b"\x00\x01\xff" * 200_000,
        RULES + "ф".encode() * 400_000,
    ],
    ids=["after a byte order mark", "for this app with its version", "before bytes", "before letters"],
)
async def test_rules_are_found(world: World, rules: bytes) -> None:
    asked = await world.article()
    world.server.answers |= {"/robots.txt": response(200, rules, content_type="text/plain"), "/story": page()}
    assert (await world.acquire(asked)).skip_reason == "ROBOTS"


async def test_a_redirect_to_a_closed_path_is_not_read(world: World) -> None:
    asked = await world.article()
    world.server.answers |= {
        "/robots.txt": response(200, b"User-agent: *\nDisallow: /closed", content_type="text/plain"),
        "/story": response(302, Location="/closed"),
        "/closed": page(),
    }
    assert (await world.acquire(asked)).skip_reason == "ROBOTS"


async def test_the_canonical_or_amp_page_is_read_if_the_first_has_no_text(world: World) -> None:
    for number, relation in enumerate(("canonical", "amphtml")):
        asked = await world.article(number, f"/story{number}")
        stub = html(paragraphs=["Subscribe to continue reading."], head=f'<link rel="{relation}" href="/full">')
        world.server.answers |= {f"/story{number}": page(stub), "/full": page()}
        document = await world.acquire(asked)
        assert document.validation_status == "VALID"
        assert f"read from {world.server.url('/full')}" in document.normalization_notes


async def test_only_one_link_is_followed(world: World) -> None:
    asked = await world.article()
    stubs = {
        f"/{name}": page(html(paragraphs=["Subscribe to continue reading."], head=f'<link rel=canonical href="/{to}">'))
        for name, to in (("story", "second"), ("second", "third"))
    }
    world.server.answers |= {**stubs, "/third": page()}
    assert (await world.acquire(asked)).skip_reason == "PAYWALL"
    assert "/third" not in [each.path for each in world.server.requests]


@pytest.mark.parametrize(
    ("declared", "encoding"),
    [("iso-8859-1", "utf-8"), ("utf-8", "windows-1252"), ("", "utf-16"), ("koi8-r", "koi8-r")],
)
async def test_a_wrong_charset_does_not_spoil_the_text(world: World, declared: str, encoding: str) -> None:
    word = "Паром" if encoding == "koi8-r" else "café"
    asked = await world.article()
    body = html(paragraphs=[*TEXT, f"The {word} is mentioned in this last sentence."]).encode(encoding)
    world.server.answers["/story"] = page(body, content_type=f"text/html; charset={declared}")
    assert (await world.acquire(asked)).validation_status == "VALID"
    article = await world.mentions.read(asked.source_id)
    assert article.full_text is not None
    assert f"The {word} is" in (await world.archive.get(article.full_text.archive_key)).decode()


async def test_the_page_of_another_article_is_not_acquired_twice(world: World) -> None:
    first = await world.article(1, "/story")
    second = await world.article(2, "/story?utm_source=planet", headline="Read this: " + HEADLINE)
    world.server.answers["/story"] = page()
    await world.acquire(first)
    twin = await world.acquire(second)
    assert (twin.acquisition_status, twin.duplicate_of) == ("SKIPPED_DUPLICATE", first.source_id)
    assert [each["source_id"] for each in await world.aliases()] == [first.source_id]


async def test_a_failing_page_is_tried_six_times_and_then_given_up(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = page(status=500)
    await world.acquire(asked)
    for _ in range(60):
        world.watch.advance(hours=1)
        await world.clean_up()
        await world.deliver()
        world.watch.advance(hours=3)
    document = await world.document(asked.source_id)
    assert (document.attempt_count, document.validation_status) == (6, "TERMINAL_INVALID")
    assert len(await world.attempts(asked.source_id)) == 6
    assert [each.path for each in world.server.requests].count("/story") == 6


async def test_an_edited_article_has_its_page_read_again(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = [page(), page(html(paragraphs=[*TEXT, "It was bad after all, the editors say."]))]
    await world.acquire(asked)
    await world.mentions.edit(asked.source_id, HEADLINE)
    edited = (await world.mentions.read(asked.source_id)).canonical
    await world.mentions.delivered([asked.source_id])
    assert (await world.mentions.read(asked.source_id)).shown()["scored_text"] == "feed"
    document = await world.acquire(asked._replace(revision=edited.revision))
    assert (document.validation_status, document.attempt_count) == ("VALID", 2)
    article = await world.mentions.read(asked.source_id)
    assert article.shown()["scored_text"] == "document"
    assert article.full_text is not None
    assert b"after all" in await world.archive.get(article.full_text.archive_key)


async def test_deleting_an_article_removes_its_document_files_and_alias(world: World) -> None:
    asked = await world.article()
    world.server.answers["/story"] = page()
    await world.acquire(asked)
    assert world.archived()
    assert await world.aliases()
    await world.mentions.worker.delete(asked.source_id)
    assert world.archived() == []
    assert await world.aliases() == []
    assert await world.find(asked.source_id) is None
    assert "full_text" not in await world.article_document(asked.source_id)
    await world.documents().discover([asked])  # by an ingestion that was late
    await world.deliver()
    assert await world.find(asked.source_id) is None


async def test_a_long_text_is_scored_up_to_a_limit(world: World) -> None:
    tools = [await world.mentions.tool(name) for name in ("Ferry", "Harbour")]
    asked = await world.article()
    filler = "This sentence says nothing about anything in particular."
    paragraphs = [*TEXT, *(filler for _ in range(600)), "Only the last sentence of all names Harbour."]
    world.server.answers["/story"] = page(html(paragraphs=paragraphs))
    await world.acquire(asked)
    article = await world.mentions.read(asked.source_id)
    assert article.full_text is not None
    assert article.full_text.characters > MAX_SCORED
    assert [len(await world.mentions.mentions(tool)) for tool in tools] == [1, 0]


async def test_documents_of_a_host_that_cools_down_wait_without_a_request(world: World) -> None:
    asked = [await world.article(number, f"/{number}") for number in range(1, 8)]
    world.server.answers |= {f"/{number}": page(status=429) for number in range(1, 8)}
    await world.acquire(*asked)
    waiting = [await world.document(each.source_id) for each in asked]
    assert {each.acquisition_status for each in waiting} == {"FAILED_RETRYABLE", "SKIPPED_BACKOFF"}
    assert all(each.attempt_count == 0 for each in waiting if each.acquisition_status == "SKIPPED_BACKOFF")
    later = await world.article(9, "/9")
    requests = len(world.server.requests)
    document = await world.acquire(later)
    assert document.acquisition_status == "SKIPPED_BACKOFF"
    assert len(world.server.requests) == requests
    assert document.next_eligible_attempt_at is not None
    assert document.next_eligible_attempt_at >= world.watch.now + timedelta(minutes=1)
