"""Queue functions: every message handled at least once, through failures, kills and restarts."""

import asyncio
import base64
import functools
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.functional.local_host.sample import Sample, recorded, running_sample


async def poisoned(sample: Sample, queue: str) -> list[str]:
    async with sample.client.get(
        f"/devstoreaccount1/{queue}-poison/messages?peekonly=true&numofmessages=32"
    ) as response:
        text = await response.text()
    found = [part.partition("</MessageText>")[0] for part in text.split("<MessageText>")[1:]]
    return [base64.b64decode(each).decode() for each in found]


def tried(folder: Path, times: int) -> bool:
    return len(recorded(folder, queue="work")) >= times


async def test_messages_go_from_function_to_function_at_once(tmp_path: Path) -> None:
    slow_polling = {"AzureFunctionsJobHost__extensions__queues__maxPollingInterval": "00:00:30"}
    async with running_sample(tmp_path, settings=slow_polling) as sample:
        await asyncio.sleep(1.3)  # the idle queue is looked at after 1.1 s, then after 2 s
        assert await sample.send(many=["a", '{"b": 2}'], one="c") == 202
        await sample.until(lambda: len(sample.recorded()) >= 4)
        assert {each["text"] for each in sample.recorded(queue="work")} == {"a", '{"b": 2}'}
        assert {each["text"] for each in sample.recorded(queue="other")} == {"c"}
        assert await sample.count("done") == 2
        entry = sample.recorded(text="a")[0]
        shown = datetime.fromisoformat(entry["visible"]) - datetime.now(UTC)
        assert entry["count"] == 1
        assert timedelta(minutes=9) < shown <= timedelta(minutes=10)


async def test_the_outputs_of_a_failed_function_are_not_sent(tmp_path: Path) -> None:
    async with running_sample(tmp_path) as sample:
        assert await sample.send(many=["a"], fail=True) == 500
        assert await sample.send(many=["x" * 49_153]) == 500
        assert await sample.send(many=["fine", "x" * 49_153]) == 500
        assert await sample.send(one="{not json}") == 500
        assert await sample.send(many=["once", "surrogate"]) == 202
        await sample.until(lambda: len(sample.recorded(queue="work")) == 4)
        for text in ("once", "surrogate"):
            assert [each["count"] for each in sample.recorded(text=text)] == [1, 2]
        await sample.until_count("work", 0)
        assert (len(sample.recorded(queue="work")), await sample.count("done")) == (4, 2)


async def test_a_message_that_keeps_failing_is_poison_after_five_tries(tmp_path: Path) -> None:
    async with running_sample(tmp_path) as sample:
        texts = [f"fail {n}" for n in range(20)] + [f"good {n}" for n in range(20)]
        assert await sample.send(many=texts) == 202
        await sample.until(lambda: len(sample.recorded(queue="work")) == 20 * 5 + 20)
        await sample.until_count("work", 0)
        assert sorted(await poisoned(sample, "work")) == sorted(texts[:20])
        for text in texts[:20]:
            assert [each["count"] for each in sample.recorded(text=text)] == [1, 2, 3, 4, 5]
        assert len({each["id"] for each in sample.recorded(text="fail 0")}) == 1
        assert (
            "Message has reached MaxDequeueCount of 5. Moving message to queue 'work-poison'." in sample.host.printed()
        )


async def test_a_message_that_cannot_be_read_is_poison_at_once(tmp_path: Path) -> None:
    async with running_sample(tmp_path) as sample:
        body = "<QueueMessage><MessageText>not base64!</MessageText></QueueMessage>"
        async with sample.client.post("/devstoreaccount1/work/messages", data=body) as response:
            assert response.status == 201
        await sample.until_count("work-poison", 1)
        assert (sample.recorded(queue="work"), await sample.count("work")) == ([], 0)


async def test_at_most_a_batch_is_worked_on_at_once(tmp_path: Path) -> None:
    settings = {
        "AzureFunctionsJobHost__extensions__queues__batchSize": "4",
        "AzureFunctionsJobHost__extensions__queues__newBatchThreshold": "2",
        "AzureFunctionsJobHost__functionTimeout": "-1",
    }
    async with running_sample(tmp_path, settings=settings) as sample:
        await sample.send(many=[f"stuck {n}" for n in range(12)])
        await sample.until(lambda: len(sample.recorded(queue="work")) == 4)
        await sample.send(one="another queue has its turn meanwhile")
        await sample.until(lambda: sample.recorded(queue="other"))
        assert len(sample.recorded(queue="work")) == 4


async def test_every_message_is_handled_through_kills_in_the_middle_of_work(tmp_path: Path) -> None:
    texts = [f"slow {n}" for n in range(100)]
    async with running_sample(tmp_path) as sample:
        assert await sample.send(many=texts) == 202
        await sample.until(lambda: len(sample.recorded()) > 20)
        sample.host.kill()
        await sample.host.process.wait()
    for _ in range(2):
        async with running_sample(tmp_path) as sample:
            await sample.until(functools.partial(tried, tmp_path, len(sample.recorded()) + 15))
            sample.host.kill()
            await sample.host.process.wait()
    async with running_sample(tmp_path) as sample:
        await sample.until_count("work", 0)
        assert await sample.count("work-poison") == 0
        done = Counter(await sample.taken("done"))
    seen = recorded(tmp_path, queue="work")
    assert {each["text"] for each in seen} == set(texts)
    tries = Counter(each["text"] for each in seen)
    for text in texts:
        # As on Azure, a host that dies between sending "done" and deleting the message does both again.
        assert 1 <= done[f"done {text}"] <= tries[text]
        # The count is of deliveries: one may have died before the function could say so.
        counts = [each["count"] for each in seen if each["text"] == text]
        assert counts == sorted(set(counts))
        assert len(counts) == tries[text] <= counts[-1] <= 4


async def test_a_message_that_kills_its_host_over_and_over_is_poison_in_the_end(tmp_path: Path) -> None:
    settings = {"AzureFunctionsJobHost__extensions__queues__maxDequeueCount": "2"}
    for tries in (1, 2):
        async with running_sample(tmp_path, settings=settings) as sample:
            if tries == 1:
                await sample.send(many=["stuck"])
            await sample.until(functools.partial(tried, tmp_path, tries))
            sample.host.kill()
            await sample.host.process.wait()
    async with running_sample(tmp_path, settings=settings) as sample:
        await sample.until_count("work-poison", 1)
        assert len(sample.recorded(text="stuck")) == 2
