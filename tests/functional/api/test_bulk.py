"""One action on many feeds, over the functions of the app."""

import asyncio
from typing import Any

import pytest

from services.container import Container
from services.work.listing import page_of_runs
from tests.functional.api.conftest import Answer, call


@pytest.fixture
async def stocked(app: Container) -> Container:
    for number in range(5):
        host = "one" if number % 2 else "two"
        body = {"url": f"https://{host}.example/{number}", "source_name": f"Paper {number}", "feed_id": f"f{number}"}
        assert (await call("add_feed", body=body)).status == 201
    return app


async def bulk(action: str, given: dict[str, Any], **more: Any) -> Answer:
    return await call("bulk_feeds", body={"action": action, "filter": given, **more})


def outcomes(answer: Answer) -> dict[str, str]:
    assert answer.status == 200, answer.json
    return {each["feed_id"]: each["outcome"] for each in answer.json["items"]}


async def feeds(query: str = "") -> dict[str, Any]:
    return {each["feed_id"]: each for each in (await call("list_feeds", query)).json["items"]}


async def test_a_dry_run_says_what_changes_and_changes_nothing(stocked: Container) -> None:
    before = await feeds()
    for action, more in (("disable", {}), ("tag", {"tags": ["x"]}), ("fetch", {})):
        answer = await bulk(action, {"host": "one.example"}, dry_run=True, **more)
        assert outcomes(answer) == {"f1": "changed", "f3": "changed"}
        assert (answer.json["dry_run"], answer.json["action"], answer.sent) == (True, action, [])
    assert await feeds() == before
    assert (await page_of_runs(stocked.store, 10, None)).items == []


async def test_feeds_are_disabled_and_enabled_once(stocked: Container) -> None:
    given = {"host": "one.example"}
    assert outcomes(await bulk("disable", given)) == {"f1": "changed", "f3": "changed"}
    after = await feeds()
    assert outcomes(await bulk("disable", given)) == {"f1": "unchanged", "f3": "unchanged"}
    assert await feeds() == after
    assert [name for name, each in after.items() if not each["enabled"]] == ["f1", "f3"]
    assert {after[name]["disabled_by"] for name in ("f1", "f3")} == {"person"}
    assert outcomes(await bulk("enable", {"enabled": False})) == {"f1": "changed", "f3": "changed"}
    assert outcomes(await bulk("enable", {"verdict": "disabled"})) == {}


async def test_tags_are_added_and_removed_each_once_also_by_two_at_a_time(stocked: Container) -> None:
    given = {"ids": ["f0", "f1", "absent"]}
    both = await asyncio.gather(bulk("tag", given, tags=["a"]), bulk("tag", given, tags=["b", "a"]))
    assert [outcomes(each)["absent"] for each in both] == ["refused", "refused"]
    assert {name: each["tags"] for name, each in (await feeds("tag=a")).items()} == {"f0": ["a", "b"], "f1": ["a", "b"]}
    assert outcomes(await bulk("untag", {"tag": "a"}, tags=["a", "c"])) == {"f0": "changed", "f1": "changed"}
    assert {name: each["tags"] for name, each in (await feeds("tag=b")).items()} == {"f0": ["b"], "f1": ["b"]}
    assert outcomes(await bulk("untag", {"tag": "b"}, tags=["a"])) == {"f0": "unchanged", "f1": "unchanged"}
    full = await bulk("tag", {"ids": ["f0"]}, tags=[f"t{n}" for n in range(20)])
    assert full.json["items"][0]["outcome"] == "refused"
    assert "at most 20" in full.json["items"][0]["reason"]


async def test_feeds_are_fetched_by_one_message_for_a_host_and_not_twice(stocked: Container) -> None:
    await bulk("disable", {"ids": ["f4"]})
    first = await bulk("fetch", {"text": "paper"})
    assert outcomes(first) == {"f0": "changed", "f1": "changed", "f2": "changed", "f3": "changed", "f4": "refused"}
    runs = {each["feed_id"]: each["run_id"] for each in first.json["items"]}
    assert runs["f0"] == runs["f2"] is not None
    assert runs["f1"] == runs["f3"] is not None
    assert sorted(each["run_id"] for each in first.sent) == sorted({runs["f0"], runs["f1"]})
    again = await bulk("fetch", {"enabled": True})
    assert set(outcomes(again).values()) == {"unchanged"}
    assert {each["feed_id"]: each["run_id"] for each in again.json["items"]} | {"f4": None} == runs
    assert again.sent == []


async def test_a_request_does_so_many_feeds_and_the_next_ones_do_the_rest(stocked: Container) -> None:
    seen: list[str] = []
    cursor = None
    while True:
        answer = await bulk("disable", {"enabled": True}, limit=2, **({"cursor": cursor} if cursor else {}))
        seen += outcomes(answer)
        cursor = answer.json["next"]
        if cursor is None:
            break
    assert seen == ["f0", "f1", "f2", "f3", "f4"]
    assert await feeds("enabled=true") == {}
