"""What a merge gives to the target, and what returns when it is undone: fields of tools, and mentions. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from models.mention import Match, SentimentScore
from models.tool import Tool, normalize_name
from models.tool_merge import ToolMerge
from services.mentions.understanding import removed

_TICKER_SIGN = re.compile(r"[$:\s]+")
LISTS = ("tickers", "keywords", "excluded", "muted_sources")


def with_names_of(target: Tool, source: Tool, now: datetime) -> Tool:
    """The target with the source's names and their rules, tickers, keywords, exclusions, muted sources, and the earlier
    first article."""
    known = {normalize_name(name) for name in target.names}
    aliases = [name for name in source.names if normalize_name(name) not in known]
    rules = {name: rule for name, rule in source.name_rules.items() if name in aliases}
    changes: dict[str, Any] = {
        "aliases": (*target.aliases, *aliases),
        "name_rules": {**target.name_rules, **rules},
        **{field: tuple(dict.fromkeys((*getattr(target, field), *getattr(source, field)))) for field in LISTS},
    }
    first, known_first = source.discovery_date, target.discovery_date
    if first is not None and (known_first is None or first < known_first):
        changes |= {"discovery_date": first, "discovery_reference": source.discovery_reference}
    return target.changed(now, **changes)


def with_taken(merge: ToolMerge, before: Tool, after: Tool, source: Tool, now: datetime) -> ToolMerge:
    """The record of the merge with what the target got from the source, also in an earlier try. A name belongs to one
    tool, so each name of the source that the target lists came from the source."""
    names = {normalize_name(name) for name in source.names}
    changes: dict[str, Any] = {"names": tuple(name for name in after.names if normalize_name(name) in names)}
    for field in LISTS:
        new = [each for each in getattr(after, field) if each not in getattr(before, field)]
        changes[field] = tuple(dict.fromkeys((*getattr(merge, field), *new)))
    if after.discovery_reference != before.discovery_reference:
        changes |= {
            "took_discovery": True,
            "target_discovery_date": before.discovery_date,
            "target_discovery_reference": before.discovery_reference,
        }
    return merge.changed(now, **changes)


def without_names_of(target: Tool, source: Tool, merge: ToolMerge, now: datetime) -> Tool:
    """The target without what the merge gave it. What it got or lost since, it keeps."""
    given = {normalize_name(name) for name in merge.names}
    aliases = tuple(name for name in target.aliases if normalize_name(name) not in given)
    listed = (target.primary_name, *aliases)
    changes: dict[str, Any] = {
        "aliases": aliases,
        "name_rules": {name: rule for name, rule in target.name_rules.items() if name in listed},
        **{
            field: tuple(each for each in getattr(target, field) if each not in getattr(merge, field))
            for field in LISTS
        },
    }
    if merge.took_discovery and target.discovery_reference == source.discovery_reference:
        changes |= {
            "discovery_date": merge.target_discovery_date,
            "discovery_reference": merge.target_discovery_reference,
        }
    return target.changed(now, **changes)


def moved(mention: SentimentScore, known: SentimentScore | None, target: Tool, now: datetime) -> SentimentScore:
    """The source's mention as a mention of the target. If the target has a mention by the same article that counts
    (`known`), that mention stays, with the matches of both."""
    if known is not None and known.counts:
        matches = tuple(dict.fromkeys((*known.matches, *mention.matches)))
        return known if matches == known.matches else known.changed(now, matches=matches)
    return _copied(mention, known, target, mention.matches, now)


def shared_out(
    mention: SentimentScore, known: SentimentScore | None, source: Tool, target: Tool, now: datetime
) -> tuple[SentimentScore | None, SentimentScore]:
    """The mention of the target as a mention of the source, and what stays of it, by the names that were found. The
    article has expired, so both keep its judgement. `known` is what the source has by this article. None: nothing is
    the source's, or it has its mention already."""
    theirs = tuple(each for each in mention.matches if is_of(each, source))
    if not theirs or not mention.counts:
        return None, mention
    own = tuple(each for each in mention.matches if each not in theirs or is_of(each, target))
    stays = removed(mention, now)
    if own:
        stays = mention if own == mention.matches else mention.changed(now, matches=own)
    if known is not None and known.counts:
        return None, stays
    return _copied(mention, known, source, theirs, now), stays


def is_of(match: Match, tool: Tool) -> bool:
    """Whether the name that was found is one of the tool. A ticker is shown as it was written, such as `NYSE: IBM`."""
    names = {normalize_name(name) for name in (*tool.names, *tool.keywords)}
    return normalize_name(match.name) in names or _TICKER_SIGN.split(match.name)[-1].upper() in tool.tickers


def _copied(
    mention: SentimentScore, known: SentimentScore | None, tool: Tool, matches: Sequence[Match], now: datetime
) -> SentimentScore:
    role = mention.role
    if tool.discovery_reference == mention.source_id:
        role = "DISCOVERY"
    elif role == "DISCOVERY":
        role = "TIMELINE_SOURCE"
    fields = {
        **mention.__dict__,
        "tool_id": tool.tool_id,
        "role": role,
        "matches": tuple(matches),
        "removed_at": None,
        "removal_counted": None,
        "updated_at": now,
    }
    return SentimentScore(**fields) if known is None else known.changed(now, **fields)
