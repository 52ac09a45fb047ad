"""Pages by which a site keeps programs out: recognised by a header, or by the start of a page. Pure.

Only marks that a service sends with a challenge and with nothing else: many sites behind such a service serve usual
pages with its script in them. A page is looked at only if it is no feed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from services.fetch.addresses import without_query
from services.fetch.outcome import FetchResult, FetchStatus

LOOKED_AT_BYTES = 50_000

_HEADERS: tuple[tuple[str, str | None, str], ...] = (
    ("cf-mitigated", "challenge", "cloudflare"),
    ("x-amzn-waf-action", None, "aws_waf"),
    ("x-vercel-mitigated", None, "vercel"),
    ("x-sucuri-block", None, "sucuri"),
)
"""Header, its value (None: any), and the service."""

_MARKS = (
    (b"<title>just a moment...</title>", "cloudflare"),
    (b"_cf_chl_opt", "cloudflare"),
    (b"cf-browser-verification", "cloudflare"),
    (b"<title>attention required! | cloudflare</title>", "cloudflare"),
    (b"captcha-delivery.com", "datadome"),
    (b"px-captcha", "perimeterx"),
    (b"_incapsula_resource", "imperva"),
    (b"sucuri_cloudproxy_js", "sucuri"),
    (b"token.awswaf.com", "aws_waf"),
    (b"errors.edgesuite.net", "akamai"),
    (b"/.within.website/x/cmd/anubis", "anubis"),
    (b"vercel security checkpoint", "vercel"),
    (b"check.ddos-guard.net", "ddos_guard"),
)


def challenge_in_headers(headers: Mapping[str, str]) -> str | None:
    """The service that challenges this app, by the headers of its response."""
    for name, value, service in _HEADERS:
        given = headers.get(name)
        if given and value in (None, given.lower()):
            return service
    return None


def challenge_in_page(body: bytes) -> str | None:
    """The service that challenges this app, by the page that it sent instead of a feed."""
    start = body[:LOOKED_AT_BYTES].lower()
    return next((service for mark, service in _MARKS if mark in start), None)


def blocked(result: FetchResult, service: str, retry_after: float | None = None) -> FetchResult:
    """The result of a response by which `service` keeps programs out."""
    return replace(
        result,
        status=FetchStatus.BLOCKED,
        body=None,
        retry_after=retry_after,
        error=f"{result.status_code} from {without_query(result.url)}: a page of {service} that keeps programs out",
        fingerprint=f"{FetchStatus.BLOCKED}:{service}",
    )
