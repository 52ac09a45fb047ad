"""Why a source is in an article: the rule by which its entry matched. Pure.

An article and its observations keep it, and `GET articles/{article_id}/ledger` lists it.
"""

from __future__ import annotations

from collections.abc import Mapping

from models.article import ArticleDocument, JoinRule
from services.articles.matching import Match

FIELDS: Mapping[JoinRule, tuple[str, ...]] = {
    "first": (),
    "own_id": ("article_id",),
    "url": ("url",),
    "headline_and_day": ("headline", "day"),
    "url_in_key": ("headline", "day", "url"),
    "person": (),
}
"""What a source and the article had in common by each rule."""


def join_rule(match: Match, article: ArticleDocument | None, source: str) -> JoinRule:
    """The rule by which the source joins the article, or creates it (None)."""
    candidate = match.candidate
    if article is None:
        return "first"
    if match.claimed_by not in ("", source):  # sources share the locators of URLs, and no others
        return "url"
    if match.source_id == candidate.source_id(with_url=True):
        return "url_in_key"
    if match.source_id == candidate.source_id():
        return "headline_and_day"
    return "own_id" if candidate.has_own_id else "url"
