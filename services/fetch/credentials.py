"""What private feeds are opened with: a setting of the name that the feed says, never anything in its document.

On Azure such a setting is a Key Vault reference, which the platform resolves.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from models.errors import InvalidInput
from services.fetch.outcome import BasicCredential, Credential, HeaderCredential

NAME = re.compile(r"FEED_CREDENTIAL_[A-Z0-9_]{1,80}")
"""Only settings of this kind, or a feed could be made to send out any other secret of the app."""

_BASIC = re.compile(r"basic\s+([^:\s]+):(.+)", re.IGNORECASE)
_HEADER = re.compile(r"header\s+([A-Za-z0-9!#$%&'*+.^_`|~-]+):\s*([\x20-\x7e]+)", re.IGNORECASE)


def credentials_in(environment: Mapping[str, str]) -> Callable[[str], Credential]:
    """Finds a credential by its setting. InvalidInput, which never quotes the value, if it is not there or unclear."""

    def credential(name: str) -> Credential:
        # Checked where a feed is added, too; but documents have other ways into a store.
        text = environment.get(name, "").strip() if NAME.fullmatch(name) else ""
        if basic := _BASIC.fullmatch(text):
            return BasicCredential(basic[1], basic[2])
        if header := _HEADER.fullmatch(text):
            return HeaderCredential(header[1], header[2])
        allowed = "must be a setting FEED_CREDENTIAL_…, and hold `basic user:password` or `header Name: value`"
        raise InvalidInput(name, allowed)

    return credential
