"""The language of an article follows its text."""

from models.article import Article, Observation
from tests.functional.articles.world import World, item

GERMAN = "Ausfall bei Microsoft: Teams und Outlook sind nicht erreichbar"


async def test_an_edit_in_another_language_changes_the_language(world: World) -> None:
    await world.add_feed("a", [item(1, text="")])
    await world.poll("a")
    world.publish("a", [item(1, title=GERMAN, text="")])
    await world.poll("a")
    article = Article.from_document(await world.article())
    assert (article.language, article.canonical.headline) == ("de", GERMAN)
    assert [Observation.from_document(each).language for each in await world.observations()] == ["de"]
