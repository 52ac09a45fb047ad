"""Pages that keep programs out, and pages that only look like it."""

from __future__ import annotations

import httpx
import pytest

from services.fetch.outcome import FetchResult, FetchStatus
from services.fetch.response import blocked, challenge_in_headers, challenge_in_page


@pytest.mark.parametrize(
    ("headers", "service"),
    [
        ({"CF-Mitigated": "challenge"}, "cloudflare"),
        ({"cf-mitigated": "other"}, None),
        ({"x-amzn-waf-action": "captcha"}, "aws_waf"),
        ({"x-amzn-waf-action": ""}, None),
        ({"X-Vercel-Mitigated": "deny"}, "vercel"),
        ({"X-Sucuri-Block": "1"}, "sucuri"),
        ({"Server": "cloudflare", "CF-Ray": "1"}, None),
        ({}, None),
    ],
)
def test_headers_that_only_a_challenge_has(headers: dict[str, str], service: str | None) -> None:
    assert challenge_in_headers(httpx.Headers(headers)) == service


@pytest.mark.parametrize(
    ("page", "service"),
    [
        (b"<html><head><title>Just a moment...</title></head>", "cloudflare"),
        (b"<script>window._cf_chl_opt={}</script>", "cloudflare"),
        (b'<div class="cf-browser-verification">', "cloudflare"),
        (b"<title>Attention Required! | Cloudflare</title>", "cloudflare"),
        (b"<script src='https://ct.captcha-delivery.com/c.js'>", "datadome"),
        (b"<div id='px-captcha'>", "perimeterx"),
        (b"<iframe src='/_Incapsula_Resource?SWUDNSAI=31'>", "imperva"),
        (b"<script>sucuri_cloudproxy_js=''</script>", "sucuri"),
        (b"<script src='https://1.token.awswaf.com/1/challenge.js'>", "aws_waf"),
        (b"Reference #18.1 https://errors.edgesuite.net/18.1", "akamai"),
        (b"<link href='/.within.website/x/cmd/anubis/static/a.css'>", "anubis"),
        (b"<title>Vercel Security Checkpoint</title>", "vercel"),
        (b"<script src='https://check.ddos-guard.net/check.js'>", "ddos_guard"),
        (b"<html><script src='/cdn-cgi/challenge-platform/scripts/jsd/main.js'></script>News</html>", None),
        (b"<html><title>Just a moment of silence</title></html>", None),
        (b" " * (50_000 - 11) + b"_cf_chl_opt", "cloudflare"),
        (b" " * (50_000 - 10) + b"_cf_chl_opt", None),
        (b"", None),
    ],
)
def test_pages_that_are_a_challenge(page: bytes, service: str | None) -> None:
    assert challenge_in_page(page) == service


def test_the_result_names_the_service_and_no_query() -> None:
    result = FetchResult(FetchStatus.FETCHED, "https://a.example/feed?key=1", status_code=200, body=b"x", etag='"1"')
    after = blocked(result, "cloudflare", 30.0)
    assert (after.status, after.body, after.fingerprint) == ("blocked", None, "blocked:cloudflare")
    assert after.error == "200 from https://a.example/feed: a page of cloudflare that keeps programs out"
    assert (after.retry_after, after.ok) == (30.0, False)
