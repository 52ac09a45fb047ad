"""Connections that fail, TLS that does not hold, and hosts that are left alone for a while."""

import asyncio
import errno
import ipaddress
import socket
import ssl
import struct
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiohttp.abc import ResolveResult
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from models.feed import host_of_address
from services.fetch.limits import HostReport
from services.fetch.outcome import FetchRequest, FetchStatus
from tests.functional.fetch.conftest import Make, Names, Request, Server, response


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


async def test_a_connection_that_is_refused_is_retried_and_named(make: Make) -> None:
    waits: list[float] = []
    result = await make(waits).fetch(FetchRequest(f"http://127.0.0.1:{closed_port()}/?q=secret"))
    assert (result.status, result.attempts, waits) == (FetchStatus.CONNECTION, 3, [1.0, 2.0])
    assert (result.error, result.fingerprint) == ("127.0.0.1: the connection was refused", "connection:refused")


async def test_a_name_that_is_unknown_is_retried_and_named(make: Make) -> None:
    result = await make(tools={"resolver": Names()}).fetch(FetchRequest("http://gone.test/"))
    assert (result.status, result.attempts) == (FetchStatus.DNS, 3)
    assert (result.error, result.fingerprint) == ("gone.test: no such name", "dns:unknown_name")


class NoAnswer(Names):
    """A resolver that fails with the error that it is given."""

    def __init__(self, error: OSError) -> None:
        super().__init__()
        self.error = error

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        raise self.error


@pytest.mark.parametrize(
    ("error", "fingerprint"),
    [
        (socket.gaierror(socket.EAI_AGAIN, "later"), "dns:try_again"),
        (socket.gaierror(socket.EAI_NONAME, "never"), "dns:unknown_name"),
        (OSError(errno.ECONNREFUSED, "the name server, not the host"), "dns:unknown_name"),
    ],
)
async def test_lookups_that_fail_are_told_from_connections_that_do(
    make: Make, error: OSError, fingerprint: str
) -> None:
    result = await make(retry_attempts=1, tools={"resolver": NoAnswer(error)}).fetch(FetchRequest("http://name.test/"))
    assert (result.status, result.fingerprint) == (FetchStatus.DNS, fingerprint)


async def test_a_connection_that_is_reset_is_told_from_one_that_ends(server: Server, make: Make) -> None:
    async def reset(_request: Request, writer: asyncio.StreamWriter) -> None:
        at_once = struct.pack("ii", 1, 0)
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)

    async def end(_request: Request, _writer: asyncio.StreamWriter) -> None:
        pass

    server.answers |= {"/reset": reset, "/end": end}
    fetcher = make(retry_attempts=1)
    results = [await fetcher.fetch(FetchRequest(server.url(path))) for path in ("/reset", "/end")]
    assert [each.fingerprint for each in results] == ["connection:reset", "connection:closed"]


@pytest.mark.parametrize("start", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"])
async def test_a_connection_that_breaks_off_is_retried(server: Server, make: Make, start: bytes) -> None:
    async def hang_up(_request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(start)

    server.answers["/feed"] = hang_up
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.attempts) == (FetchStatus.CONNECTION, 3)
    server.answers["/feed"] = response()
    assert (await make().fetch(FetchRequest(server.url()))).ok


@pytest.mark.parametrize(
    ("garbage", "what"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n\r\n", "the response is not HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 99_999 + b"\r\n\r\n", "its headers are too large"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 5_000 + b"\r\n", "its headers are too large"),
    ],
)
async def test_what_is_not_http_is_a_bad_response(server: Server, make: Make, garbage: bytes, what: str) -> None:
    server.answers["/feed"] = garbage
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.attempts) == (FetchStatus.BAD_RESPONSE, 1)
    assert result.error == f"127.0.0.1: {what}"


@pytest.fixture
async def tls_server(tmp_path: Path) -> AsyncIterator[tuple[Server, Path]]:
    """A server with a certificate for 127.0.0.1 that is trusted only with its own context."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "here")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), True)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path / "server.pem"
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(path)
    server = Server(scheme="https")
    listening = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=context)
    server.port = listening.sockets[0].getsockname()[1]
    yield server, path
    listening.close()


async def test_a_certificate_that_nobody_vouches_for_is_readable_and_not_retried(
    tls_server: tuple[Server, Path], make: Make
) -> None:
    server, _ = tls_server
    result = await make().fetch(FetchRequest(server.url()))
    assert (result.status, result.attempts) == (FetchStatus.TLS, 1)
    assert "self-signed certificate" in str(result.error)
    assert str(result.fingerprint).startswith("tls:certificate_")


async def test_tls_holds_where_the_certificate_is_trusted_and_names_the_host(
    tls_server: tuple[Server, Path], make: Make
) -> None:
    server, path = tls_server
    server.answers["/feed"] = response()
    trusting = ssl.create_default_context(cafile=str(path))
    fetcher = make(tools={"tls": trusting, "resolver": Names(other_test=["127.0.0.1"])})
    assert (await fetcher.fetch(FetchRequest(server.url()))).ok
    other = await fetcher.fetch(FetchRequest(server.url(host="other.test")))
    assert (other.status, "not valid for 'other.test'" in str(other.error)) == (FetchStatus.TLS, True)


async def test_a_server_without_tls_is_a_tls_error(make: Make) -> None:
    async def speak_plainly(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        writer.write(response(400))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(speak_plainly, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        result = await make().fetch(FetchRequest(f"https://127.0.0.1:{port}/"))
    assert (result.status, result.attempts) == (FetchStatus.TLS, 1)


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_host_that_keeps_failing_is_left_alone_until_a_probe_succeeds(server: Server, make: Make) -> None:
    async def hang_up(_request: Request, writer: asyncio.StreamWriter) -> None:
        pass

    server.answers["/feed"] = hang_up
    clock = Time()
    fetcher = make(tools={"monotonic": clock}, retry_attempts=1)
    for _ in range(5):
        assert (await fetcher.fetch(FetchRequest(server.url()))).status is FetchStatus.CONNECTION
    asked = len(server.requests)
    refused = await fetcher.fetch(FetchRequest(server.url()))
    assert (refused.status, refused.retry_after) == (FetchStatus.BREAKER_OPEN, 60)
    assert len(server.requests) == asked
    clock.now = 61
    server.answers["/feed"] = response()
    assert (await fetcher.fetch(FetchRequest(server.url()))).ok
    assert (await fetcher.fetch(FetchRequest(server.url()))).ok


async def test_requests_report_what_they_showed_of_their_hosts(server: Server, make: Make) -> None:
    async def hang_up(_request: Request, writer: asyncio.StreamWriter) -> None:
        pass

    server.answers |= {"/ok": response(), "/500": response(500), "/503": response(503), "/gone": hang_up}
    server.answers |= {"/429": response(429, Retry_After="9"), "/later": response(503, Retry_After="30")}
    fetcher = make(retry_attempts=1)
    host = host_of_address(server.url())
    expected = {
        "/gone": HostReport(failures=1, reason="connection:closed"),
        "/ok": HostReport(succeeded=True),
        "/500": HostReport(succeeded=True),
        "/404": HostReport(succeeded=True),
        "/503": HostReport(succeeded=True),
        "/429": HostReport(failures=1, reason="429", retry_after=9.0),
        "/later": HostReport(failures=1, reason="503", retry_after=30.0),
    }
    for path, report in expected.items():
        await fetcher.fetch(FetchRequest(server.url(path)))
        assert fetcher.host_reports() == {host: report}, path


async def test_a_closed_fetcher_opens_no_more_connections(server: Server, make: Make) -> None:
    fetcher = make()
    await fetcher.close()
    with pytest.raises(RuntimeError, match="closed"):
        await fetcher.fetch(FetchRequest(server.url()))
    assert not server.requests
