"""The folder is private, and whole after a crash; blobs are reached late, and never without a limit of time."""

import asyncio
import errno
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from models.errors import InvalidInput, NotFound, Unavailable
from services.archive.blob import BlobArchive
from services.archive.folder import FolderArchive
from services.archive.keys import checked_key, folder_of, key_of, source_of

FOLDER = "2026-02-21/01"
KILLED = """
import asyncio, os, sys
from pathlib import Path
from services.archive import folder
sync, when = os.fsync, sys.argv[2]
replace = os.replace
if when == "before the bytes are synced":
    os.fsync = lambda descriptor: os._exit(9)
if when == "before the rename":
    os.replace = lambda *paths: os._exit(9)
if when == "after the rename":
    os.replace = lambda *paths: (replace(*paths), os._exit(9))
archive = folder.FolderArchive(Path(sys.argv[1]))
if when == "before the bytes are synced":
    Path(sys.argv[1], "2026-02-21/01").mkdir(parents=True)
asyncio.run(archive.put("2026-02-21/01", b"text" * 1000))
"""
ROOT = Path(__file__).resolve().parents[3]


def test_an_object_is_named_by_day_article_and_checksum() -> None:
    article = "dedup:0123456789abcdef0123456789abcdef"
    folder = folder_of(article, "2026-02-21")
    assert (folder, source_of(folder)) == ("2026-02-21/0123456789abcdef0123456789abcdef", article)
    key = f"{folder}/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert key_of(folder, b"") == checked_key(key) == key


@pytest.mark.parametrize("when", ["before the bytes are synced", "before the rename", "after the rename"])
async def test_a_killed_process_leaves_a_whole_object_or_none_and_the_next_put_succeeds(
    when: str, tmp_path: Path
) -> None:
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(tmp_path), when, cwd=ROOT)
    assert await killed.wait() == 9
    archive, key = FolderArchive(tmp_path), key_of(FOLDER, b"text" * 1000)
    if when == "after the rename":
        assert await archive.get(key) == b"text" * 1000
    else:
        with pytest.raises(NotFound):
            await archive.get(key)
    await archive.put(FOLDER, b"text" * 1000)
    assert await archive.get(key) == b"text" * 1000
    assert await archive.delete_folder(FOLDER) == 1
    assert os.listdir(tmp_path) == [], "what the killed process left is gone too"


async def test_only_the_user_of_the_app_reads_it(tmp_path: Path) -> None:
    root = tmp_path / "data" / "archive"
    key = (await FolderArchive(root).put(FOLDER, b"text")).archive_key
    folders = [root, root / "2026-02-21", root / FOLDER]
    assert [stat.S_IMODE(each.stat().st_mode) for each in folders] == [0o700] * 3
    assert stat.S_IMODE((root / key).stat().st_mode) == 0o600


async def test_a_full_disk_says_so_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    (tmp_path / FOLDER).mkdir(parents=True)
    with pytest.raises(Unavailable, match=r"no space is left .*: make room"):
        await FolderArchive(tmp_path).put(FOLDER, b"text")
    assert os.listdir(tmp_path / FOLDER) == []


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
