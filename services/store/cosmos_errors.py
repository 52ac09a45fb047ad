"""Errors of Azure Cosmos DB: which pass by themselves, how long to wait, and what the caller is told."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import TYPE_CHECKING

from models.errors import Unavailable

if TYPE_CHECKING:
    from azure.core.exceptions import AzureError

RETRIED = frozenset({408, 410, 429, 449, 502, 503, 504})
NOT_DONE = frozenset({429, 449})  # of RETRIED: a request with this status had no effect
FIRST_WAIT_SECONDS, LONGEST_WAIT_SECONDS = 0.1, 5.0


def of_batch(error: AzureError) -> bool:
    """Whether an operation of a batch failed. The HTTP response is then a 200 or 207."""
    return hasattr(error, "operation_responses")


def status_of(error: AzureError) -> tuple[int, int]:
    return int(getattr(error, "status_code", None) or 0), int(getattr(error, "sub_status", None) or 0)


def passes(error: AzureError, status: int, substatus: int) -> bool:
    """Whether another try may succeed: Cosmos is busy, or the connection broke. 404/1002 is a replica that lags
    behind."""
    from azure.core.exceptions import DecodeError, ServiceRequestError, ServiceResponseError

    if isinstance(error, ServiceRequestError | ServiceResponseError | DecodeError):
        return True
    return status in RETRIED or (status, substatus) == (404, 1002)


def wait_after(error: AzureError, attempt: int) -> float:
    retry_after = _retry_after(error)
    if retry_after is not None:
        return retry_after * random.uniform(1.0, 1.25)  # noqa: S311 - jitter, not a secret
    longest = min(LONGEST_WAIT_SECONDS, FIRST_WAIT_SECONDS * 2.0 ** (attempt - 1))
    return longest * random.uniform(0.5, 1.0)  # noqa: S311 - jitter, not a secret


def _retry_after(error: AzureError) -> float | None:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None) or error, "headers", None) or {}
    of_operations = [
        each.get("retryAfterMilliseconds", 0) for each in getattr(error, "operation_responses", None) or ()
    ]
    try:
        return max(0.0, float(headers.get("x-ms-retry-after-ms") or max(of_operations, default=0) or "none")) / 1000
    except ValueError:
        return None


def unavailable(error: AzureError, status: int, substatus: int) -> Unavailable:
    from azure.core.exceptions import ClientAuthenticationError

    if status in (401, 403) or isinstance(error, ClientAuthenticationError):
        return Unavailable(
            f"Cosmos DB refused the sign-in ({status or 'no token'}): give this identity the role Cosmos DB Built-in "
            "Data Contributor and let its network in, or correct COSMOS_KEY"
        )
    if (status, substatus) == (404, 1003):
        return Unavailable("Cosmos DB knows no such database or container: run scripts/create_cache_container.py")
    if status:
        code = f"{status}/{substatus}" if substatus else f"{status}"
        return Unavailable(f"Cosmos DB returned {code}", retry_after=_retry_after(error))
    return Unavailable(f"Cosmos DB could not be reached ({type(error).__name__}): check COSMOS_ENDPOINT")
