"""What follows a publish: the smoke test, then the containers, then the migrations, with time for a new role."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta

import pytest

from scripts.postdeploy import NO_ANSWER, PAUSE_SECONDS, ROLE_ARRIVES_WITHIN_SECONDS, follow_up
from scripts.wait_for_roles import still_to_wait

STORE = {"STORE": "cosmos", "COSMOS_ENDPOINT": "https://a.example", "COSMOS_DATABASE": "toolpulse", "COSMOS_KEY": ""}


class Steps:
    """Runs nothing. Each script gives the next of its exit codes, then 0."""

    def __init__(self, **codes: list[int]) -> None:
        self.ran: list[tuple[str, Mapping[str, str]]] = []
        self.waited = 0.0
        self._codes = codes

    def run(self, command: Sequence[str], environment: Mapping[str, str]) -> int:
        name = command[1].removeprefix("scripts/").removesuffix(".py")
        self.ran.append((name, environment))
        waiting = self._codes.get(name, [])
        return waiting.pop(0) if waiting else 0

    def pause(self, seconds: float) -> None:
        self.waited += seconds

    def follow_up(self) -> int:
        return follow_up("python", "https://app.example", "https://a.example", "toolpulse", self.run, self.pause)


def test_the_smoke_test_the_containers_and_the_migrations_run_in_this_order_on_the_deployed_store() -> None:
    steps = Steps()
    assert steps.follow_up() == 0
    assert steps.ran == [("smoke", {}), ("create_cache_container", STORE), ("migrate", STORE)]
    assert steps.waited == 0


def test_nothing_is_migrated_if_the_smoke_test_fails() -> None:
    steps = Steps(smoke=[1])
    assert steps.follow_up() == 1
    assert [name for name, _ in steps.ran] == ["smoke"]


def test_a_step_is_tried_again_until_a_new_role_has_arrived() -> None:
    steps = Steps(create_cache_container=[NO_ANSWER] * 2, migrate=[NO_ANSWER])
    assert steps.follow_up() == 0
    assert [name for name, _ in steps.ran] == ["smoke", *["create_cache_container"] * 3, *["migrate"] * 2]
    assert steps.waited == 3 * PAUSE_SECONDS


@pytest.mark.parametrize("name", ["create_cache_container", "migrate"])
def test_a_step_that_keeps_failing_fails_the_deployment(name: str) -> None:
    steps = Steps(**{name: [NO_ANSWER] * 1000})
    assert steps.follow_up() == NO_ANSWER
    assert steps.waited == ROLE_ARRIVES_WITHIN_SECONDS


@pytest.mark.parametrize("name", ["create_cache_container", "migrate"])
def test_what_time_cannot_fix_fails_the_deployment_at_once(name: str) -> None:
    steps = Steps(**{name: [1]})
    assert (steps.follow_up(), steps.waited) == (1, 0)


def test_an_upload_waits_until_the_storage_roles_are_five_minutes_old() -> None:
    now = datetime(2026, 2, 21, 12, tzinfo=UTC)
    assert still_to_wait("2026-02-21T11:58:00.1234567Z", now) == timedelta(minutes=3, microseconds=123456)
    assert still_to_wait("2026-02-21T11:00:00Z", now) == timedelta()
    assert still_to_wait("2026-02-21T13:00:00Z", now) == timedelta(minutes=5)
    assert still_to_wait("", now) == timedelta()
