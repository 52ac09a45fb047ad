"""What a private feed is asked with: read from the setting that the feed names, which may be a Key Vault reference.

The setting says `basic USER:PASSWORD` or `header NAME: VALUE`. Only settings named FEED_CREDENTIAL_… are read, so that
no feed can be made to send out another secret of the app.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from models.errors import InvalidInput
from services.feeds.form import is_credential_name
from services.ingest.fetching.outcome import BasicCredential, Credential, HeaderCredential

_BASIC = re.compile(r"basic\s+([^:\x00-\x1f\x7f]+):([^\x00-\x1f\x7f]*)", re.IGNORECASE)
_HEADER = re.compile(r"header\s+([A-Za-z0-9!#$%&'*+.^_`|~-]+)\s*:\s*([\x21-\x7e][\x20-\x7e]*)", re.IGNORECASE)


def credential_named(name: str, environment: Mapping[str, str]) -> Credential:
    """Raises InvalidInput, which never quotes the setting, if it is missing or says nothing usable."""
    if not is_credential_name(name):
        raise InvalidInput("credential", f"{name} is no setting for credentials")
    said = environment.get(name, "").strip()
    if not said or said.lower().startswith("@microsoft.keyvault("):
        raise InvalidInput("credential", f"the setting {name} is missing, or its Key Vault reference was not resolved")
    if basic := _BASIC.fullmatch(said):
        return BasicCredential(basic[1], basic[2])
    if header := _HEADER.fullmatch(said):
        return HeaderCredential(header[1], header[2])
    raise InvalidInput("credential", f"the setting {name} must be `basic USER:PASSWORD` or `header NAME: VALUE`")
