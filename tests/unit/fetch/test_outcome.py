"""Credentials come from settings of one kind only, and requests and results show no secret."""

import pytest

from models.errors import InvalidInput
from services.fetch.outcome import (
    BasicCredential,
    FetchRequest,
    FetchResult,
    FetchStatus,
    HeaderCredential,
    credentials_in,
)

find = credentials_in(
    {
        "FEED_CREDENTIAL_A": "basic user:pass:word ",
        "FEED_CREDENTIAL_B": "header X-Key: abc",
        "FEED_CREDENTIAL_C": "s3cret",
        "TIINGO_API_TOKEN": "basic user:other",
    }
)


def test_a_setting_holds_a_login_or_a_header() -> None:
    assert find("FEED_CREDENTIAL_A") == BasicCredential("user", "pass:word")
    assert find("FEED_CREDENTIAL_B") == HeaderCredential("X-Key", "abc")


@pytest.mark.parametrize(
    "name", ["TIINGO_API_TOKEN", "FEED_CREDENTIAL_", "feed_credential_a", "FEED_CREDENTIAL_A\n", "FEED_CREDENTIAL_C"]
)
def test_no_other_setting_can_be_sent_out_whatever_a_feeds_document_says_and_none_is_quoted(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        find(name)
    assert not any(secret in str(refused.value) for secret in ("s3cret", "other"))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("FEED_CREDENTIAL_C", "the setting FEED_CREDENTIAL_C is malformed"),
        ("FEED_CREDENTIAL_D", "the app has no setting FEED_CREDENTIAL_D"),
        ("other", "'other' must be the name of a setting FEED_CREDENTIAL_"),
    ],
)
def test_a_setting_that_is_missing_or_malformed_is_named_with_what_is_allowed(name: str, said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        find(name)
    assert (refused.value.field, str(refused.value).startswith(f"credential: {said}")) == ("credential", True)
    assert name == "other" or "`basic user:password` or `header Name: value`" in str(refused.value)


def test_requests_and_results_show_no_secret() -> None:
    for credential in (BasicCredential("user", "s3cret"), HeaderCredential("X-Key", "s3cret")):
        assert "s3cret" not in repr(credential)
        request = FetchRequest("https://x.example/?key=s3cret", credential=credential)
        assert "s3cret" not in repr(request)
        assert "credential" not in repr(request)
    result = FetchResult(
        FetchStatus.FETCHED, "https://x.example/?key=s3cret", body=b"s3cret", moved_to="https://x.example/?key=s3cret"
    )
    assert "s3cret" not in repr(result)
