"""An Azure identity for tests: a credential whose tokens the test server does not look at."""

from typing import Any, Self

from azure.core.credentials import AccessToken
from azure.core.exceptions import ClientAuthenticationError


class Identity:
    def __init__(self, *, refused: bool = False) -> None:
        self.refused = refused

    async def get_token(self, *scopes: str, **_: Any) -> AccessToken:
        if self.refused:
            raise ClientAuthenticationError("no identity here")
        return AccessToken("token", 4_000_000_000)

    async def close(self) -> None:
        """There is nothing to release."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
