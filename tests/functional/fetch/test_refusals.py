"""Nothing inside is reached: not by name, notation, redirect, or a name that changes its meaning."""

import pytest

from services.fetch.outcome import FetchRequest, FetchStatus
from tests.functional.fetch.conftest import Make, Names, Server, response

HOSTS = ["127.0.0.1.", "localhost", "0x7f.1", "[::ffff:7f00:1]", "10.0.0.1", "evil.test", "inside.test", "mapped.test"]
"""Some of each kind: tests/unit/fetch/test_addresses.py has all."""


@pytest.mark.parametrize("host", HOSTS)
async def test_a_private_address_is_refused_in_every_notation(server: Server, make: Make, host: str) -> None:
    names = Names(
        evil_test=["127.0.0.1"], inside_test=["::1"], mapped_test=["::ffff:127.0.0.1"], localhost=["127.0.0.1"]
    )
    fetcher = make(tools={"resolver": names}, allow_private_addresses=False)
    result = await fetcher.fetch(FetchRequest(server.url(host=host)))
    assert (result.status, result.attempts) == (FetchStatus.REFUSED_ADDRESS, 1)
    assert (server.connections, result.fingerprint) == (0, "refused_address")


async def test_the_address_that_is_connected_to_is_checked_not_one_looked_up_before(server: Server, make: Make) -> None:
    # The name means this machine for whoever may go there, and metadata a moment later.
    names = Names(rebind_test=["127.0.0.1", "169.254.169.254"])
    fetcher = make(tools={"resolver": names})
    server.answers["/feed"] = response(Connection="close")
    assert (await fetcher.fetch(FetchRequest(server.url(host="rebind.test")))).ok
    again = make(tools={"resolver": names})
    assert (await again.fetch(FetchRequest(server.url(host="rebind.test")))).status is FetchStatus.REFUSED_ADDRESS


async def test_a_redirect_inside_is_refused(server: Server, make: Make) -> None:
    server.answers["/feed"] = response(302, b"", Location="http://evil.test/latest/meta-data")
    fetcher = make(tools={"resolver": Names(evil_test=["169.254.169.254"])})
    result = await fetcher.fetch(FetchRequest(server.url()))
    assert (result.status, len(server.requests)) == (FetchStatus.REFUSED_ADDRESS, 1)


@pytest.mark.parametrize("url", ["", "file:///etc/passwd", "http://user:s3cret@example.com/", "http://exa mple.com/"])
async def test_what_is_no_web_address_is_refused_without_asking_anybody(make: Make, url: str) -> None:
    result = await make().fetch(FetchRequest(url))
    assert (result.status, result.attempts) == (FetchStatus.INVALID_URL, 1)
    assert "s3cret" not in str(result.error)


@pytest.mark.parametrize("host", ["a..b", "a" * 64 + ".test", "xn--.test", "-.test", "%zz", "nowhere.test"])
async def test_a_host_that_no_dns_knows_is_a_readable_outcome(make: Make, host: str) -> None:
    result = await make(retry_attempts=1).fetch(FetchRequest(f"http://{host}/"))
    assert result.status in (FetchStatus.DNS, FetchStatus.INVALID_URL)
    assert result.error
