"""The messages of all stages: their specified payloads, and that each is read as it was written."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from models.errors import InvalidInput
from services.container import STAGES
from services.documents.documents import DOCUMENTS_STAGE
from services.feeds.claims import INGESTION_STAGE
from services.mentions.due import ANALYSIS_STAGE, REFRESH_STAGE, SIGNALS_STAGE, article_form
from services.stories.stage import grouping_stage
from services.work.driver import WORKFLOWS_STAGE, completed_messages
from services.work.stage import Stage, id_in, ids_in
from tests.documents import ARTICLE_ID

GROUPING_STAGE = grouping_stage(timedelta(minutes=5))
ALL = (*STAGES, GROUPING_STAGE)


@pytest.mark.parametrize(
    ("stage", "message"),
    [
        (INGESTION_STAGE, {"run_id": "a"}),
        (WORKFLOWS_STAGE, {"run_id": "a"}),
        (DOCUMENTS_STAGE, {"source_ids": ["a"]}),
        (REFRESH_STAGE, {"tool_ids": ["a"]}),
        (ANALYSIS_STAGE, {"event": "articles.new", "feed_id": None, "article_ids": ["a"], "count": 1}),
        (SIGNALS_STAGE, {"event": "processing.generate_ideas", "event_ids": ["a"], "trigger_reason": "events_updated"}),
        (
            GROUPING_STAGE,
            {
                "event": "processing.group_headlines",
                "article_ids": ["a"],
                "trigger_reason": "interval_elapsed",
                "ungrouped_count": 1,
            },
        ),
    ],
    ids=lambda each: each.name if isinstance(each, Stage) else "",
)
def test_a_message_has_the_payload_of_its_specification(stage: Stage, message: dict[str, Any]) -> None:
    assert [json.loads(each) for each in stage.messages(["a"])] == [message]


def test_new_articles_are_announced_with_the_feed_that_brought_them() -> None:
    assert article_form(["a", "b"], "wire") == {
        "event": "articles.new",
        "feed_id": "wire",
        "article_ids": ["a", "b"],
        "count": 2,
    }


@pytest.mark.parametrize("stage", ALL, ids=lambda each: each.name)
def test_every_item_is_in_one_message_in_order_and_none_is_larger_than_the_queue_takes(stage: Stage) -> None:
    keys = [f"{ARTICLE_ID}{number}" for number in range(250)]
    messages = stage.messages(keys)
    assert [key for each in messages for key in stage.keys_of(each)] == keys
    assert len(messages) == -(-len(keys) // stage.most)
    assert max(map(len, messages)) < 40_000
    assert stage.messages([]) == []


@pytest.mark.parametrize("stage", ALL, ids=lambda each: each.name)
@pytest.mark.parametrize("text", ["", "7", "null", "[]", "{}", '{"%s":7}', '{"%s":""}', '{"%s":["a",""]}'])
def test_another_text_is_refused(stage: Stage, text: str) -> None:
    with pytest.raises(InvalidInput, match="message"):
        stage.keys_of(text.replace("%s", stage.named))


def test_a_message_names_one_id_or_several_each_once() -> None:
    (completed,) = completed_messages(["t"], "r")
    assert (completed, id_in(completed, "tool_id")) == ('{"tool_id":"t","run_id":"r"}', "t")
    assert ids_in('{"ids":["b","a","b"]}', "ids") == ["b", "a"]
    with pytest.raises(InvalidInput):
        id_in('{"ids":["b","a"]}', "ids")
