"""A message of `analyze-articles` is read as it was written."""

import json

import pytest

from models.errors import InvalidInput
from services.mentions.analysis_due import MOST_ARTICLES, article_messages, source_ids_of
from tests.documents import ARTICLE_ID


def test_every_article_is_in_one_message_in_order() -> None:
    ids = [f"dedup:{number}" for number in range(5)]
    messages = article_messages(ids, 2)
    assert [json.loads(each) for each in messages[1:]] == [
        {"event": "articles.new", "feed_id": None, "article_ids": ids[2:4], "count": 2},
        {"event": "articles.new", "feed_id": None, "article_ids": ids[4:], "count": 1},
    ]
    assert [source_ids_of(each) for each in messages] == [ids[:2], ids[2:4], ids[4:]]
    assert article_messages([]) == []


def test_a_message_is_the_event_of_the_specification_with_the_feed_that_brought_the_articles() -> None:
    (message,) = article_messages(["dedup:0", "dedup:1"], feed_id="reuters-world")
    assert message == (
        '{"event":"articles.new","feed_id":"reuters-world","article_ids":["dedup:0","dedup:1"],"count":2}'
    )
    assert source_ids_of(message) == ["dedup:0", "dedup:1"]


def test_the_largest_message_is_far_below_the_limit_of_the_queue() -> None:
    assert MOST_ARTICLES == 100
    (message,) = article_messages([ARTICLE_ID] * MOST_ARTICLES, feed_id="f" * 255)
    assert len(message) < 40_000


def test_an_article_that_a_message_names_twice_is_analysed_once() -> None:
    assert source_ids_of(json.dumps({"article_ids": ["b", "a", "b"]})) == ["b", "a"]


@pytest.mark.parametrize(
    "text",
    ["", "7", "[]", '"article_ids"', "{}", '{"article_ids":"a"}', '{"article_ids":["a",""]}'],
)
def test_what_is_no_such_message_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput, match="article_ids"):
        source_ids_of(text)
