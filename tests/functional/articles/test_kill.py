"""kill -9 at random moments of an ingestion, restarted until it is through: each article once, each counter right."""

from pathlib import Path

from tests.functional.articles.killing import Plan, kill_until_done


async def test_killed_again_and_again_every_article_is_there_once_and_every_counter_right(tmp_path: Path) -> None:
    plan = Plan(feeds=60, entries=40, shared=6, kills=7, seed=4)
    told = await kill_until_done(tmp_path / "data", plan)
    assert told.is_right_for(plan), told
    assert sum(life > 0 for life in told.lives) >= 4, "it was through before it was killed: make the plan larger"
