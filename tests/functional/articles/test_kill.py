"""kill -9 at random moments of an ingestion, restarted until it is through: each article is stored once."""

from pathlib import Path

from tests.functional.articles.killing import Plan, kill_until_done


async def test_after_many_kills_every_article_is_stored_once_and_the_audit_finds_no_difference(tmp_path: Path) -> None:
    plan = Plan(feeds=60, entries=40, shared=6, kills=7, seed=4)
    outcome = await kill_until_done(tmp_path / "data", plan)
    assert outcome.is_right_for(plan), outcome
    assert sum(life > 0 for life in outcome.lives) >= 4, "it was through before it was killed: make the plan larger"
