"""What the target of a merge gets: the source's names, and its mentions."""

from __future__ import annotations

from datetime import timedelta

import pytest

from models.mention import Match
from models.tool import NameRule, Tool
from models.tool_merge import ToolMerge
from services.workflows.merge_rules import is_of, moved, shared_out, with_names_of, with_taken, without_names_of
from tests.documents import NOW, mention, tool, tool_merge

SLACK = "877eb2d8-661b-4643-ae62-cfc49e74c31e"
TEAMS = "0b0f8c8e-24d8-4c0e-8c0b-5f8d6c1f4a11"
OF_SOURCE, OF_TARGET = f"dedup:{1:032x}", f"dedup:{2:032x}"
LATER = NOW + timedelta(hours=1)
BY_NAME = Match(name="Teams", kind="NAME", where="HEADLINE")
BY_ALIAS = Match(name="MS Teams", kind="ALIAS", where="TEXT")


def test_the_target_gets_the_names_that_it_does_not_have_in_any_spelling() -> None:
    target = tool(tool_id=SLACK, primary_name="Slack", name_rules={}, aliases=("Slack HQ",))
    source = tool(tool_id=TEAMS, primary_name="Teams", aliases=("SLACK hq", "MS Teams"), name_rules={})
    assert with_names_of(target, source, LATER).aliases == ("Slack HQ", "Teams", "MS Teams")


def test_only_names_that_move_bring_their_rules() -> None:
    exact = NameRule(case_sensitive=True)
    target = tool(tool_id=SLACK, primary_name="Slack", name_rules={}, aliases=())
    source = tool(tool_id=TEAMS, primary_name="Teams", aliases=("slack",), name_rules={"Teams": exact, "slack": exact})
    assert with_names_of(target, source, LATER).name_rules == {"Teams": exact}


@pytest.mark.parametrize("field", ["tickers", "keywords", "excluded"])
def test_tickers_keywords_and_excluded_phrases_are_joined_without_repeats(field: str) -> None:
    target = tool(tool_id=SLACK, primary_name="Slack", name_rules={}, aliases=(), **{field: ("A", "B")})
    source = tool(tool_id=TEAMS, primary_name="Teams", aliases=(), name_rules={}, **{field: ("B", "C")})
    assert getattr(with_names_of(target, source, LATER), field) == ("A", "B", "C")


@pytest.mark.parametrize(
    ("known", "found", "reference"),
    [
        (None, "2026-01-02", OF_SOURCE),
        ("2026-01-03", "2026-01-02", OF_SOURCE),
        ("2026-01-02", "2026-01-02", OF_TARGET),
        ("2026-01-02", None, OF_TARGET),
    ],
)
def test_the_earlier_first_article_stays_and_the_targets_at_the_same_day(
    known: str | None, found: str | None, reference: str
) -> None:
    target = tool(
        tool_id=SLACK,
        primary_name="Slack",
        aliases=(),
        name_rules={},
        discovery_date=known,
        discovery_reference=OF_TARGET,
    )
    source = tool(
        tool_id=TEAMS,
        primary_name="Teams",
        aliases=(),
        name_rules={},
        discovery_date=found,
        discovery_reference=OF_SOURCE,
    )
    merged = with_names_of(target, source, LATER)
    assert merged.discovery_reference == reference
    assert merged.discovery_date == (found if reference == OF_SOURCE else known)
    assert merged.updated_at == LATER


def test_a_mention_moves_with_all_that_was_judged_of_it() -> None:
    target = tool(tool_id=SLACK, discovery_reference=None)
    before = mention(tool_id=TEAMS, role="TIMELINE_SOURCE")
    after = moved(before, None, target, LATER)
    assert after.tool_id == SLACK
    assert after.updated_at == LATER
    assert after.changed(LATER, tool_id=TEAMS) == before.changed(LATER)


@pytest.mark.parametrize(
    ("role", "first", "expected"),
    [
        ("DISCOVERY", None, "TIMELINE_SOURCE"),
        ("TIMELINE_SOURCE", "the article", "DISCOVERY"),
        ("DOCUMENT_SOURCE", None, "DOCUMENT_SOURCE"),
    ],
)
def test_only_the_mention_by_the_targets_first_article_is_its_discovery(
    role: str, first: str | None, expected: str
) -> None:
    before = mention(tool_id=TEAMS, role=role)
    target = tool(tool_id=SLACK, discovery_reference=first and before.source_id)
    assert moved(before, None, target, LATER).role == expected


def test_a_mention_of_the_target_that_counts_stays_with_the_matches_of_both() -> None:
    known = mention(tool_id=SLACK, matches=(BY_NAME,), score=0.4)
    after = moved(mention(tool_id=TEAMS, matches=(BY_NAME, BY_ALIAS), score=0.9), known, tool(tool_id=SLACK), LATER)
    assert (after.matches, after.score, after.tool_id) == ((BY_NAME, BY_ALIAS), 0.4, SLACK)
    assert after.updated_at == LATER


def test_a_mention_of_the_target_that_has_all_the_matches_is_not_written_again() -> None:
    known = mention(tool_id=SLACK, matches=(BY_NAME, BY_ALIAS))
    assert moved(mention(tool_id=TEAMS, matches=(BY_ALIAS,)), known, tool(tool_id=SLACK), LATER) is known


def test_a_mention_of_the_target_that_was_removed_is_replaced() -> None:
    removed = mention(tool_id=SLACK, matches=(), score=0.1, removed_at=NOW)
    after = moved(mention(tool_id=TEAMS, matches=(BY_NAME,), score=0.9), removed, tool(tool_id=SLACK), LATER)
    assert (after.removed_at, after.matches, after.score, after.tool_id) == (None, (BY_NAME,), 0.9, SLACK)


def merged_slack() -> tuple[Tool, Tool, ToolMerge]:
    """The target after a merge, the source, and the record."""
    target = tool(
        tool_id=SLACK,
        primary_name="Slack",
        aliases=("Slack HQ",),
        name_rules={},
        tickers=("WORK", "CHAT"),
        discovery_date="2026-01-03",
        discovery_reference=OF_TARGET,
    )
    source = tool(
        tool_id=TEAMS,
        primary_name="Teams",
        aliases=("MS Teams",),
        name_rules={"Teams": NameRule(case_sensitive=True)},
        tickers=("CHAT", "MSFT"),
        keywords=("channel",),
        discovery_date="2026-01-02",
        discovery_reference=OF_SOURCE,
    )
    joined = with_names_of(target, source, NOW)
    record = with_taken(
        tool_merge(tool_id=SLACK, merged_tool_id=TEAMS, names=(), tickers=()), target, joined, source, NOW
    )
    return joined, source, record


def test_the_target_loses_what_it_got_and_keeps_what_both_had_and_what_came_since() -> None:
    joined, source, record = merged_slack()
    assert (record.names, record.tickers, record.keywords) == (("Teams", "MS Teams"), ("MSFT",), ("channel",))
    since = joined.changed(LATER, keywords=(*joined.keywords, "huddle"), aliases=(*joined.aliases, "Slick"))
    left = without_names_of(since, source, record, LATER)
    assert (left.names, left.tickers, left.keywords) == (("Slack", "Slack HQ", "Slick"), ("WORK", "CHAT"), ("huddle",))
    assert (left.name_rules, left.discovery_reference, left.discovery_date) == ({}, OF_TARGET, "2026-01-03")


def test_a_second_try_of_a_merge_records_the_same() -> None:
    joined, source, record = merged_slack()
    assert with_taken(record, joined, with_names_of(joined, source, LATER), source, NOW) == record


def test_a_first_article_that_the_target_got_since_stays() -> None:
    joined, source, record = merged_slack()
    other = joined.changed(LATER, discovery_reference="dedup:" + "9" * 32, discovery_date="2026-01-01")
    assert without_names_of(other, source, record, LATER).discovery_date == "2026-01-01"


@pytest.mark.parametrize(
    ("name", "is_theirs"),
    [
        ("teams", True),
        ("MS  Teams", True),
        ("$MSFT", True),
        ("NASDAQ: MSFT", True),
        ("channel", True),
        ("Slack", False),
    ],
)
def test_a_match_belongs_to_the_tool_that_has_the_name_keyword_or_ticker(name: str, *, is_theirs: bool) -> None:
    _, source, _ = merged_slack()
    assert is_of(Match(name=name, kind="NAME", where="TEXT"), source) is is_theirs


def test_a_mention_by_an_expired_article_goes_where_its_names_belong() -> None:
    joined, source, record = merged_slack()
    target = without_names_of(joined, source, record, LATER)
    slack = Match(name="Slack", kind="NAME", where="TEXT")
    one = mention(tool_id=SLACK, matches=(BY_NAME,), role="TIMELINE_SOURCE")
    theirs, own = shared_out(one, None, source, target, LATER)
    assert theirs is not None
    assert (theirs.tool_id, theirs.matches, theirs.score, theirs.counts, own.counts) == (
        TEAMS,
        (BY_NAME,),
        one.score,
        True,
        False,
    )
    both = mention(tool_id=SLACK, matches=(BY_ALIAS, slack))
    theirs, own = shared_out(both, None, source, target, LATER)
    assert theirs is not None
    assert (theirs.matches, own.matches, own.counts) == ((BY_ALIAS,), (slack,), True)
    alone = mention(tool_id=SLACK, matches=(slack,))
    assert shared_out(alone, None, source, target, LATER) == (None, alone)
    again = shared_out(one, theirs, source, target, LATER)
    assert (again[0], again[1].counts) == (None, False), "it has returned already"
