"""The verdict on a feed: the one word for its condition, and what people do about each.

services/feeds/verdicts.py decides which verdict a feed has, and states the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

Verdict = Literal[
    "disabled", "gone", "moved", "blocked", "failing", "new", "empty", "stale", "silent", "lying", "slow", "ok"
]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)

DisabledBy = Literal["person", "app"]
DisabledCause = Literal["gone", "not_found", "duplicate", "errors", "worker_died"]
"""Why the app disabled a feed: 410; 404; its address leads to another registered feed; too many errors in a row; its
workers died."""

PROBED_CAUSES: frozenset[DisabledCause] = frozenset({"not_found", "duplicate", "errors"})
"""The app fetches such a feed now and then, and enables it when there is a feed again."""

ADVICE: Mapping[Verdict, str] = {
    "disabled": "Enable it with PATCH and enabled true once the cause is repaired, or delete it.",
    "gone": "Look for the new address and PATCH url, or delete the feed.",
    "moved": "PATCH url with the new address; delete the feed if another one is registered there.",
    "blocked": "Ask the site to allow this app's user agent, give a credential, or use another feed of the site.",
    "failing": "Nothing yet: it is tried again. If it lasts, correct the url or the credential.",
    "new": "Nothing: wait for the first fetches.",
    "empty": "Open the address: if the site publishes elsewhere, PATCH url, else delete the feed.",
    "stale": "Look whether the site still publishes here: PATCH url with its present feed, or delete this one.",
    "silent": "Open the site: if it has newer articles, its feed is broken or has moved; PATCH url.",
    "lying": "Nothing: it is fetched whole each time. Tell the site if the traffic matters.",
    "slow": "Nothing, unless fetches fail: a slow server may need a larger REQUEST_TIMEOUT_SECONDS.",
    "ok": "Nothing.",
}
