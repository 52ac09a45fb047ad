"""Where the small documents are stored, and their defaults; what errors carry."""

from models.errors import InvalidTransition, WrongSettings
from models.feed import FeedAddress, FetchPrice
from tests.documents import NOW


def test_the_fetch_price_is_one_document_of_the_catalog() -> None:
    price = FetchPrice(created_at=NOW, updated_at=NOW)
    assert (price.CONTAINER, price.partition, price.id) == ("catalog", "SCHEDULE", "fetch-price")
    assert price.entity_type == "FetchPrice"


def test_feeds_cost_their_usual_price_until_it_is_corrected() -> None:
    price = FetchPrice(created_at=NOW, updated_at=NOW)
    assert (price.factor, price.fetches_per_feed_hour) == (1.0, 0.0)


def test_an_address_is_stored_under_the_hash_of_its_url() -> None:
    key = "url:0f115db062b7c0dd030b16878c99dea5"
    address = FeedAddress(created_at=NOW, updated_at=NOW, url="https://example.com/", holder="example")
    assert (address.CONTAINER, address.PARTITION_FIELD, address.id) == ("feeds", "feed_id", "address")
    assert (address.partition, address.entity_type) == (key, "FeedAddress")


def test_wrong_settings_name_each_problem() -> None:
    error = WrongSettings("A must be set", "B must be true or false")
    assert error.problems == ("A must be set", "B must be true or false")
    assert str(error) == "the settings of this app are wrong: A must be set; B must be true or false"


def test_an_invalid_transition_names_the_machine_and_both_states() -> None:
    error = InvalidTransition("run", "FAILED", "RUNNING")
    assert (error.machine, error.current, error.wanted) == ("run", "FAILED", "RUNNING")
    assert str(error) == "run: FAILED cannot become RUNNING"
