"""What opens private feeds comes from settings of one kind only."""

import pytest

from models.errors import InvalidInput
from services.fetch.outcome import BasicCredential, HeaderCredential, credentials_in

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
