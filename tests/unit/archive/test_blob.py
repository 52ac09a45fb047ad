"""What the blob archive does without a server: it imports and connects late, and never without a limit of time."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from models.errors import InvalidInput, Unavailable
from services.archive.blob import BlobArchive

ROOT = Path(__file__).resolve().parents[3]
LOCAL = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;BlobEndpoint=http://127.0.0.1:{port}/a;"


def test_the_sdk_is_imported_at_the_first_call() -> None:
    program = (
        "import sys; from services.archive.blob import BlobArchive; BlobArchive('UseDevelopmentStorage=true')\n"
        "sys.exit('azure.storage.blob' in sys.modules or 'azure.core' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True)


@pytest.mark.parametrize("given", [{}, {"connection_string": "x", "url": "https://a.example"}])
def test_it_needs_a_connection_string_or_a_url(given: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        BlobArchive(**given)  # type: ignore[arg-type]


async def test_a_server_that_never_answers_is_unavailable_in_time() -> None:
    connections: list[asyncio.Task[None] | None] = []

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(asyncio.current_task())
        await reader.read()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    archive = BlobArchive(LOCAL.format(port=server.sockets[0].getsockname()[1]), timeout_seconds=0.3)
    async with server:
        for call in (archive.put("2026-02-21/a", b"text"), archive.ping(), archive.delete_folder("2026-02-21/a")):
            with pytest.raises(Unavailable, match=r"within 0\.3 s"):
                await call
        await archive.close()
        await asyncio.gather(*filter(None, connections))
