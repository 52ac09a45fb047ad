"""What a source of an article says in words of its own: those that differ from the canonical reading. Pure.

The sources that an article lists are judged by their own words, each revision once. A source with the same words as the
canonical reading has its judgement. So have further sources, unless they have the words of a listed one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from models.article import Article
from models.observation import Observation
from models.values import UNKNOWN_LANGUAGE
from services.articles.attributions import observation_id
from services.mentions.prose import prose_of_reading
from services.mentions.scoring import Questions, Scores, ask
from services.parse.language import decide
from services.ports import Document
from services.tools.detector import Detected, Detector

LANGUAGE_OF_OLDER_ARTICLES = "en"
"""Articles that an earlier version stored have no language, and were all scored as English. They stay so, unless their
text tells another language."""


@dataclass(slots=True)
class OwnWords:
    """The analysis of one revision. `detected` are the tools that the words name."""

    revision: str
    detected: Mapping[str, Detected]
    questions: Questions
    scores: Scores | None = None


def observations_of_other_words(document: Document) -> dict[str, str]:
    """The revisions of listed sources that differ from the canonical one, each with the id of an observation that has
    its words. Empty for an article that was deleted, or that no analysis can read."""
    canonical, attributions = document.get("canonical"), document.get("source_attribution")
    if document.get("deleted_at") or not isinstance(canonical, dict) or not isinstance(attributions, dict):
        return {}
    found: dict[str, str] = {}
    for source, own in attributions.items():
        revision, scraped_at = own.get("revision"), own.get("scraped_at")
        if revision and scraped_at and revision != canonical.get("revision"):
            found.setdefault(revision, observation_id(source, scraped_at))
    return found


def understand_own_words(
    article: Article,
    observation: Observation,
    detector: Detector,
    tool_ids: Collection[str],
    only: Collection[str] | None = None,
) -> OwnWords:
    """The words of an observation, to be judged in general and for those of `tool_ids` that they name."""
    publishers = {observation.publisher, *(each.source_name for each in article.source_attribution.values())}
    identifying = article.normalized_headline if observation.headline == article.headline else ""
    prose = prose_of_reading(observation.headline, observation.text or "", publishers, observation.url, identifying)
    named = detector.find(prose.headline, prose.text, observation.tags, observation.tickers)
    detected = {tool_id: each for tool_id, each in named.items() if tool_id in tool_ids}
    language = observation.language or language_of_older(prose.headline, prose.text)
    return OwnWords(observation.revision, detected, ask(prose.headline, prose.text, detected, only, language))


def language_of_older(headline: str, text: str) -> str:
    """The language of words that an earlier version stored."""
    language = decide(headline, text, "", {}).language
    return LANGUAGE_OF_OLDER_ARTICLES if language == UNKNOWN_LANGUAGE else language
