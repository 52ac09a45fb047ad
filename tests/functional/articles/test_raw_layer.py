"""The raw layer of an entry that had to be repaired."""

from models.observation import Observation
from tests.functional.articles.world import Page, World


def document(*entries: str) -> bytes:
    return f"<rss version='2.0'><channel><title>News</title>{''.join(entries)}</channel></rss>".encode()


def entry(number: int, more: str) -> str:
    return f"<item><title>Number {number} is in the news</title><link>https://a.example/{number}</link>{more}</item>"


async def observed(world: World, body: bytes) -> dict[str, tuple[str | None, tuple[str, ...]]]:
    """`raw_value` and `parse_warnings`, by URL."""
    await world.add_feed("a")
    world.shelf.pages["https://a.example/feed"] = Page(body)
    await world.poll("a")
    found = [Observation.from_document(each) for each in await world.observations()]
    return {each.url: (each.raw_value, each.parse_warnings) for each in found}


async def test_a_date_that_does_not_count_is_kept_as_it_was_written(world: World) -> None:
    found = await observed(
        world,
        document(
            entry(1, "<pubDate>Sat, 21 Feb 2026 19:00:00 GMT</pubDate>"),
            entry(2, "<pubDate> yesterday\n at noon </pubDate>"),
            entry(3, "<pubDate>Fri, 1 Jan 2099 00:00:00 +0100</pubDate>"),
            entry(4, ""),
            entry(5, f"<pubDate>{'soon ' * 1_000}</pubDate>"),
        ),
    )
    assert found["https://a.example/1"] == (None, ())
    assert found["https://a.example/2"] == ("yesterday at noon", ("date_unparsable",))
    assert found["https://a.example/3"] == ("Fri, 1 Jan 2099 00:00:00 +0100", ("date_future",))
    assert found["https://a.example/4"] == (None, ("date_missing",))
    assert 190 < len(found["https://a.example/5"][0] or "") <= 200


async def test_a_repair_of_an_entry_is_named_in_its_observation_and_counted_in_its_feed(world: World) -> None:
    when = "<pubDate>Sat, 21 Feb 2026 19:00:00 GMT</pubDate>"
    long = f"<item><title>{'word ' * 1_000}</title><link>https://a.example/1</link>{when}</item>"
    twice = "<guid isPermaLink='false'>same</guid>"
    found = await observed(world, document(long, entry(2, twice + when), entry(3, twice + when), entry(4, when)))
    assert found == {
        "https://a.example/1": (None, ("headline_cut",)),
        "https://a.example/2": (None, ("id_repeated",)),
        "https://a.example/3": (None, ("id_repeated",)),
        "https://a.example/4": (None, ()),
    }
    assert (await world.feed("a")).parse_warnings == {"headline_cut": 1, "id_repeated": 2}
