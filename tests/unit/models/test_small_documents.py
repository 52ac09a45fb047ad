"""Where the small documents are stored, and their defaults; what errors carry."""

from models.errors import InvalidTransition, WrongSettings
from models.feed import FetchPrice
from tests.documents import NOW


def test_feeds_cost_their_usual_price_until_it_is_corrected() -> None:
    price = FetchPrice(created_at=NOW, updated_at=NOW)
    assert (price.factor, price.fetches_per_feed_hour) == (1.0, 0.0)


def test_wrong_settings_name_each_problem() -> None:
    error = WrongSettings("A must be set", "B must be true or false")
    assert error.problems == ("A must be set", "B must be true or false")
    assert str(error) == "the settings of this app are wrong: A must be set; B must be true or false"


def test_an_invalid_transition_names_the_machine_and_both_states() -> None:
    error = InvalidTransition("run", "FAILED", "RUNNING")
    assert (error.machine, error.current, error.wanted) == ("run", "FAILED", "RUNNING")
    assert str(error) == "run: FAILED cannot become RUNNING"
