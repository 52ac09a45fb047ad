"""What a private feed is asked with."""

import pytest

from models.errors import InvalidInput
from services.feeds.credentials import credential_named
from services.ingest.fetching.outcome import BasicCredential, Credential, HeaderCredential

NAME = "FEED_CREDENTIAL_ACME"


@pytest.mark.parametrize(
    ("said", "credential"),
    [
        ("basic reader:pa:ss word", BasicCredential("reader", "pa:ss word")),
        (" Basic reader: ", BasicCredential("reader", "")),
        ("header X-Api-Key: abc def", HeaderCredential("X-Api-Key", "abc def")),
        ("header Authorization: Bearer e.y.j", HeaderCredential("Authorization", "Bearer e.y.j")),
    ],
)
def test_a_setting_says_user_and_password_or_a_header(said: str, credential: Credential) -> None:
    assert credential_named(NAME, {NAME: said}) == credential


@pytest.mark.parametrize(
    "said",
    [
        "",
        "hunter2",
        "reader:hunter2",
        "basic hunter2",
        "header hunter2",
        "header X Y: hunter2",
        "header X: hunter2\r\nY: 1",
        "@Microsoft.KeyVault(SecretUri=https://hunter2.example/)",
    ],
)
def test_what_says_neither_is_refused_without_quoting_it(said: str) -> None:
    with pytest.raises(InvalidInput, match=NAME) as caught:
        credential_named(NAME, {NAME: said})
    assert "hunter2" not in str(caught.value)


def test_no_other_setting_is_ever_sent_to_a_feed() -> None:
    with pytest.raises(InvalidInput):
        credential_named("COSMOS_KEY", {"COSMOS_KEY": "header X: secret"})
