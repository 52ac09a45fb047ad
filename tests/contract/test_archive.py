"""The Archive port: a folder of this machine and Azurite, over the wire, keep the same promises."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from models.errors import Damaged, InvalidInput, NotFound, Unavailable
from services.archive.blob import BlobArchive
from services.archive.folder import FolderArchive
from services.archive.keys import LARGEST_OBJECT, folder_of
from services.ports import Archive
from services.queues.storage import API_VERSION
from services.topology import ARCHIVE_CONTAINER
from tests.contract import azurite

KINDS = ("folder", "azurite") if azurite.available() else ("folder",)
DAY = "2026-02-21"
FOLDER = folder_of("dedup:0123456789abcdef", DAY)


@dataclass
class Archives:
    """One archive, which is empty at first; `another` is another worker's, `damage` writes past them."""

    one: Archive
    another: Archive
    damage: Callable[[str, bytes], Awaitable[None]]


@pytest.fixture(scope="module")
def connection() -> Iterator[str]:
    with azurite.running_blobs() as served:
        yield served


@pytest.fixture(params=KINDS)
async def archives(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Archives]:
    if request.param == "folder":
        root = tmp_path / "data" / "archive"

        async def overwrite(key: str, data: bytes) -> None:
            (root / key).parent.mkdir(parents=True, exist_ok=True)
            (root / key).write_bytes(data)

        yield Archives(FolderArchive(root), FolderArchive(root), overwrite)
        return
    connection = request.getfixturevalue("connection")
    one, another = BlobArchive(connection), BlobArchive(connection)

    async def overwrite_blob(key: str, data: bytes) -> None:
        from azure.storage.blob.aio import BlobServiceClient

        async with BlobServiceClient.from_connection_string(connection, api_version=API_VERSION) as service:
            await service.get_blob_client(ARCHIVE_CONTAINER, key).upload_blob(data, overwrite=True)

    yield Archives(one, another, overwrite_blob)
    for folder in await one.folders("9"):
        await one.delete_folder(folder)
    for each in (one, another, one):
        await each.close()


@pytest.fixture
def archive(archives: Archives) -> Archive:
    return archives.one


async def test_bytes_are_read_as_they_were_stored_by_any_worker(archives: Archives) -> None:
    for data in (b"", b"\x00\xff\r\n<html>", "Größe 你".encode("utf-16"), bytes(range(256)) * 40_000):
        stored = await archives.one.put(FOLDER, data)
        assert (stored.byte_length, stored.sha256) == (len(data), hashlib.sha256(data).hexdigest())
        assert stored.archive_key == f"{FOLDER}/{stored.sha256}"
        assert "" not in (stored.archive_container, stored.etag)
        assert await archives.another.get(stored.archive_key) == data


async def test_the_same_bytes_are_one_object_in_a_folder_and_another_one_in_another(archives: Archives) -> None:
    first = await archives.one.put(FOLDER, b"text")
    assert await archives.one.put(FOLDER, b"text") == first
    assert await archives.another.put(FOLDER, b"text") == first
    other = await archives.one.put(folder_of("dedup:ff", DAY), b"text")
    assert (other.sha256, other.archive_key != first.archive_key) == (first.sha256, True)
    assert await archives.one.delete_folder(FOLDER) == 1
    assert await archives.another.get(other.archive_key) == b"text"


async def test_bytes_that_do_not_fit_their_checksum_are_damaged(archives: Archives) -> None:
    key = (await archives.one.put(FOLDER, b"text")).archive_key
    for damaged in (b"TEXT", b"", b"text and more"):
        await archives.damage(key, damaged)
        with pytest.raises(Damaged):
            await archives.another.get(key)


async def test_a_put_repairs_an_object_of_another_size(archives: Archives) -> None:
    key = (await archives.one.put(FOLDER, b"text")).archive_key
    await archives.damage(key, b"te")
    await archives.one.put(FOLDER, b"text")
    assert await archives.one.get(key) == b"text"


async def test_all_objects_of_one_article_are_deleted_and_no_others(archive: Archive) -> None:
    prefix, other_day = folder_of("dedup:01", DAY), folder_of("dedup:01", "2026-02-22")
    longer = folder_of("dedup:012", DAY)
    for folder in (longer, other_day, prefix):
        for number in range(20):
            stored = await archive.put(folder, f"{number}".encode())
    assert await archive.delete_folder(prefix) == 20
    assert await archive.folders("9") == [longer, other_day]
    assert await archive.delete_folder(prefix) == 0
    with pytest.raises(NotFound):
        await archive.get(stored.archive_key)


async def test_folders_are_listed_in_order_between_two_and_in_pages(archive: Archive) -> None:
    days = [f"2026-01-0{day}" for day in (3, 1, 2)]
    folders = sorted(folder_of(f"dedup:{n}", day) for day in days for n in range(4))
    for folder in folders:
        await archive.put(folder, b"text")
    assert await archive.folders("2026-01-03") == folders[:8]
    assert await archive.folders("2026-01-01") == []
    assert await archive.folders(folders[6]) == folders[:6]
    paged, after = [], ""
    while page := await archive.folders("2026-01-03", after=after, limit=3):
        paged += page
        after = page[-1]
    assert paged == folders[:8]


async def test_what_others_have_put_beside_the_folders_is_left_out(archives: Archives) -> None:
    await archives.one.put(FOLDER, b"text")
    for key in ("0000-00-00/lost+found/x", "2026-02-21/lost+found/x", "2026-02-21/x", "a/b/c"):
        await archives.damage(key, b"text")
    assert await archives.one.folders("9") == [FOLDER]


STRANGE_FOLDERS = (
    "",
    "2026-02-21",
    "2026-02-21/",
    "../x",
    "2026-02-21/..",
    "2026-02-21/a/b",
    "/2026-02-21/a",
    "2026-02-21/" + "a" * 65,
    "2026-02-21/Ab",
)


async def test_other_folders_and_keys_are_refused(archive: Archive, subtests: pytest.Subtests) -> None:
    for folder in STRANGE_FOLDERS:
        with subtests.test(str(folder)):
            sha256 = hashlib.sha256(b"text").hexdigest()
            for call in (
                archive.put(folder, b"text"),
                archive.delete_folder(folder),
                archive.get(f"{folder}/{sha256}"),
                archive.get(f"{FOLDER}/{sha256[1:]}"),
            ):
                with pytest.raises(InvalidInput):
                    await call


async def test_more_bytes_than_an_object_may_have_are_refused(archive: Archive) -> None:
    with pytest.raises(InvalidInput):
        await archive.put(FOLDER, bytes(LARGEST_OBJECT + 1))
    await archive.put(FOLDER, bytes(LARGEST_OBJECT))
    assert await archive.delete_folder(FOLDER) == 1


async def test_an_archive_answers_before_anything_is_stored(archive: Archive) -> None:
    await archive.ping()
    assert await archive.folders("9") == []
    with pytest.raises(NotFound):
        await archive.get(f"{FOLDER}/{hashlib.sha256(b'text').hexdigest()}")


@pytest.mark.parametrize("over", KINDS)
async def test_an_archive_that_cannot_be_reached_is_never_taken_for_an_empty_one(over: str, tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    archive: Archive = FolderArchive(tmp_path / "a file" / "archive")
    if over == "azurite":
        archive = BlobArchive(azurite.of_blobs("http://127.0.0.1:9"), timeout_seconds=1.0)
    sha256 = hashlib.sha256(b"text").hexdigest()
    for call in (
        archive.put(FOLDER, b"text"),
        archive.get(f"{FOLDER}/{sha256}"),
        archive.delete_folder(FOLDER),
        archive.folders("9"),
        archive.ping(),
    ):
        with pytest.raises(Unavailable):
            await call
    await archive.close()
