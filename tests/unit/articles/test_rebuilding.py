"""Sources of one link go to the article of that link and back, and both articles are what their observations say."""

from __future__ import annotations

from datetime import timedelta

from models.article import Article, ArticleDocument, Observation
from services.articles.identity import Candidate, Source, SourceAttempt, candidate_of, entry_of
from services.articles.matching import Match
from services.articles.merge import merge
from services.articles.splitting import Parts, id_with_link, moved, with_link
from services.parse.urls import link_of
from tests.documents import NOW
from tests.unit.articles.builders import raw

LATER = "2026-02-22T00:00:00Z"
LINKS = {"a": "https://a.example/1", "b": "https://b.example/1", "c": "https://b.example/1"}


def published(source: str, number: int) -> tuple[Candidate, SourceAttempt]:
    attempt = SourceAttempt(Source(source, source.upper(), 5), f"run-{source}", 1, NOW + timedelta(hours=number))
    item = raw(1, article_id=f"{source}-1", url=LINKS[source], published=NOW, summary_html=f"{source} says so.")
    return candidate_of(entry_of(attempt.source, item._replace(tags=(source,))), attempt.source, attempt.at), attempt


def of_sources(sources: str) -> Parts:
    """An article that these sources brought, one after the other."""
    article: ArticleDocument | None = None
    observations = []
    for number, source in enumerate(sources):
        candidate, attempt = published(source, number)
        one = merge(article, None, [Match(candidate, candidate.source_id())], attempt)
        article = one.article
        observations.append(one.observation)
    assert article is not None
    return Parts(article, [each for each in observations if each is not None])


def split(whole: Parts, source: str) -> tuple[Parts, Parts]:
    known = whole.attributions()
    link = link_of(LINKS[source])
    to = id_with_link(whole.article, link)
    return moved(whole, None, to, with_link(known, link), LATER, is_split=True)


def checked(parts: Parts) -> Article:
    """The article, which is a valid one, with its own observations only."""
    article = Article.from_document(parts.article)
    for each in parts.observations:
        assert Observation.from_document(each).source_id == article.source_id
    return article


def test_all_sources_with_the_link_become_one_article_and_the_other_has_the_pin() -> None:
    whole = of_sources("abc")
    made, left = map(checked, split(whole, "b"))
    assert (left.sources, made.sources) == (("a",), ("b", "c"))
    assert (left.tags, made.tags) == (("a",), ("b", "c"))
    assert left.split_links == {link_of(LINKS["b"]): made.source_id}
    assert {each.joined_by for each in made.source_attribution.values()} == {"person"}
    assert (left.text_for_analysis, made.text_for_analysis) == ("a says so.", "c says so.")
    assert made.created_at == NOW + timedelta(hours=1)
    for each in (left, made):
        assert each.analysis_due_since is not None
        assert each.grouping_due_since is not None


def test_an_article_keeps_its_time_and_headline_when_its_first_source_leaves() -> None:
    whole = of_sources("ab")
    left = checked(split(whole, "a")[1])
    before = Article.from_document(whole.article)
    assert (left.timestamp, left.headline, left.created_at) == (before.timestamp, before.headline, before.created_at)
    assert (left.sources, left.canonical.source) == (("b",), "b")


def test_sources_return_with_their_rules_and_the_emptied_article_leads_back() -> None:
    whole = of_sources("abc")
    made, left = split(whole, "b")
    name = str(whole.article["source_id"])
    back, gone = moved(made, left, name, {"b", "c"}, LATER, is_split=False)
    article, emptied = checked(back), Article.from_document(gone.article)
    assert {key: each.joined_by for key, each in article.source_attribution.items()} == {
        key: each.joined_by for key, each in Article.from_document(whole.article).source_attribution.items()
    }
    assert (article.sources, article.split_links) == (("a", "b", "c"), None)
    assert emptied.deleted_at is not None
    assert emptied.split_links == {link_of(LINKS["b"]): name}
    assert [each["id"] for each in back.observations] == [each["id"] for each in whole.observations]


def test_of_two_observations_of_a_day_the_later_one_is_kept() -> None:
    """The entry was ingested into the new article while the split was under way."""
    whole = of_sources("ab")
    made, _ = split(whole, "b")
    newer = {**made.observations[0], "headline": "Edited", "scraped_at": "2026-02-21T23:59:59Z", "revision": "new"}
    newer.pop("added_by_attempt")
    again, _ = moved(whole, Parts(made.article, [newer]), made.article["source_id"], {"b"}, LATER, is_split=True)
    (kept,) = again.observations
    assert (kept["headline"], kept["added_by_attempt"]) == ("Edited", whole.observations[1]["added_by_attempt"])
    own = again.article["source_attribution"]["b"]
    assert (own["revision"], own["headline"], own["joined_by"]) == ("new", "Edited", "person")
    assert own["original_headline"] == made.observations[0]["headline"] == kept["original_headline"]
    assert again.article["canonical"]["headline"] == "Edited"
