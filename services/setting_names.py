"""Which names are settings, and which setting a name was meant to be. Pure."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from services.setting import Setting

_ALIKE: Final = 0.6
_ALMOST_EQUAL: Final = 0.9
_OF_OTHERS: Final = re.compile(
    r"AzureWebJobs|AzureFunctions|FUNCTIONS?_|WEBSITES?_|APPLICATIONINSIGHTS_|APPINSIGHTS_|APPSETTING_|SCM_|LANGUAGE_"
    r"|languageWorkers|PYTHON|AZURE_(?:FUNCTIONS|CLIENT|TENANT|AUTHORITY|FEDERATED|TOKEN|SDK|LOG|HTTP|IDENTITY|POD)_?"
    r"|MSI_|IDENTITY_|OTEL_|DIAGNOSTICS_|DOCKER_|CONTAINER_|KUBERNETES_|ENABLE_ORYX|ORYX_|BUILD_FLAGS|XDG_|REGION_NAME"
    r"|FEED_CREDENTIAL_|(?:HTTPS?|ALL|NO)_PROXY$|SSL_CERT_|REQUESTS_CA_BUNDLE$|NO_COLOR$|TZ$|PATH$|LANG$|LC_|TMPDIR$",
    re.IGNORECASE,
)
"""Names that the Functions host, Azure, Python and libraries read, and those of the credentials of feeds."""


def unknown(given: Iterable[str], rows: Sequence[Setting]) -> list[str]:
    """One sentence for each of the names that a person gave and that is no setting."""
    known = {row.name for row in rows}
    return [_sentence(name, known) for name in sorted(given) if name not in known and not _OF_OTHERS.match(name)]


def nearly_settings(environment: Iterable[str], rows: Sequence[Setting]) -> list[str]:
    """One sentence for each variable of the machine that is almost the name of a setting."""
    known = {row.name for row in rows}
    found = []
    for name in sorted(environment):
        if name not in known and not _OF_OTHERS.match(name) and (near := _nearest(name, known, _ALMOST_EQUAL)):
            found.append(f"the environment variable {name} is no setting, but nearly {near}")
    return found


def _sentence(name: str, known: Collection[str]) -> str:
    near = _nearest(name, known, _ALIKE)
    return f"{name} is no setting of this app" + (f": did you mean {near}?" if near else "")


def _nearest(name: str, known: Collection[str], cutoff: float) -> str | None:
    of_upper = {each.upper(): each for each in known}
    near = difflib.get_close_matches(name.upper(), sorted(of_upper), 1, cutoff)
    return of_upper[near[0]] if near else None
