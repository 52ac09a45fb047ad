"""Articles have a language: that of their text, or the one that their feed's other texts are clearly in."""

from models.article import Article
from models.observation import Observation
from tests.functional.articles.world import World, item

GERMAN = "Ausfall bei Microsoft: Teams und Outlook sind nicht erreichbar"


async def languages(world: World) -> dict[str, str | None]:
    found = [Article.from_document(each) for each in await world.articles()]
    observed = {each["source_id"]: each.get("language") for each in await world.observations()}
    assert {each.source_id: each.language for each in found} == observed
    assert all(each.language == each.canonical.language for each in found)
    return {each.headline: each.language for each in found}


async def test_a_short_headline_has_the_language_that_its_feed_had_before(world: World) -> None:
    await world.add_feed("a", [item(1, title=GERMAN, text="")])
    await world.poll("a")
    assert (await world.feed("a")).languages == {"de": 1}
    world.publish("a", [item(2, title="Windows 11 24H2", text="")])
    await world.poll("a", world.new_worker())
    assert await languages(world) == {GERMAN: "de", "Windows 11 24H2": "de"}
    assert (await world.feed("a")).languages == {"de": 1}, "only texts that are clear by themselves count"


async def test_an_edit_in_another_language_changes_the_language(world: World) -> None:
    await world.add_feed("a", [item(1, text="")])
    await world.poll("a")
    world.publish("a", [item(1, title=GERMAN, text="")])
    await world.poll("a")
    article = Article.from_document(await world.article())
    assert (article.language, article.canonical.headline) == ("de", GERMAN)
    assert [Observation.from_document(each).language for each in await world.observations()] == ["de"]
