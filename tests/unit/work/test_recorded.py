"""The attempts in the document of an ingestion run."""

from __future__ import annotations

from datetime import timedelta

from models.resources.runs import RunResource
from models.run import Attempt
from services.work.rules import in_run, with_attempts
from tests.documents import NOW, attempt, ingestion_batch


def fetched(feed: str, number: int = 1, after_seconds: int = 0, found: int = 0) -> Attempt:
    at = NOW + timedelta(seconds=after_seconds)
    times = {"created_at": at, "updated_at": at, "started_at": at}
    counts = dict.fromkeys(("articles_new", "articles_stored", "articles_held", "articles_skipped"), 0)
    return attempt(
        run_id="r", subject=feed, attempt_no=number, status="SUCCEEDED", articles_found=found, collisions_detected=0,
        **times, **counts,
    )  # fmt: skip


def test_attempts_are_added_once_and_listed_in_the_order_of_their_start() -> None:
    late, early = fetched("a", after_seconds=5), fetched("b")
    recorded = with_attempts(with_attempts(ingestion_batch(run_id="r"), [late, early]), [fetched("b", found=2)])
    assert [(each.id, each.articles_found) for each in in_run(recorded).items] == [(early.id, 2), (late.id, 0)]
    assert [each.id for each in in_run(recorded, "a").items] == [late.id]
    assert RunResource.of(recorded).shown()["batch_id"] == "r"


def test_the_feeds_of_a_run_are_those_with_an_attempt() -> None:
    before = ingestion_batch(run_id="r", claimed={"a": "", "b": ""})
    after = with_attempts(before, [fetched("b")])
    assert (after.to_document()["feeds"], after.to_document()["claimed"]) == (["b"], {"a": "", "b": ""})
    assert with_attempts(before, []) is before
