"""What a source of an article says in words of its own: those that differ from the canonical reading. Pure.

The sources that an article lists are judged by their own words, each revision once. A source with the same words as the
canonical reading has its judgement. So have further sources, unless they have the words of a listed one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from models.article import Article
from models.observation import Observation
from services.articles.sources import observation_id
from services.mentions.prose import prose_of_reading
from services.mentions.scoring import Questions, Scores, ask
from services.ports import Document
from services.tools.detector import Detected, Detector

DEFAULT_LANGUAGE = "en"
"""Of words whose language nobody has decided."""


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
    language = observation.language or DEFAULT_LANGUAGE
    return OwnWords(observation.revision, detected, ask(prose.headline, prose.text, detected, only, language))
