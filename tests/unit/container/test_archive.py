"""The container takes the archive that the settings name, and says what is missing."""

from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from models.errors import WrongSettings
from services.archive.blob import BlobArchive
from services.archive.folder import FolderArchive
from services.container import adapters
from services.settings import Settings

LOCAL_HOST = "DefaultEndpointsProtocol=http;AccountName=a;AccountKey=YQ==;QueueEndpoint=http://127.0.0.1:7071/a;"
EMULATOR = "UseDevelopmentStorage=true"


class Credential:
    """Never asked: the archive connects at its first call."""


def chosen(**environment: str) -> object:
    return adapters.archive_of(Settings.from_environment(environment), Credential, AsyncExitStack())  # type: ignore[arg-type]


def test_without_settings_it_is_a_folder_beside_the_store() -> None:
    archive = chosen(DATA_DIR="here", AzureWebJobsStorage=LOCAL_HOST)
    assert isinstance(archive, FolderArchive)
    assert archive._root == Path("here") / "archive"


@pytest.mark.parametrize(
    ("environment", "endpoint", "connection"),
    [
        ({"ARCHIVE_CONNECTION": EMULATOR, "AzureWebJobsStorage": LOCAL_HOST}, None, EMULATOR),
        ({"ARCHIVE_ENDPOINT": "https://own.example"}, "https://own.example", None),
        (
            {"ARCHIVE": "blob", "AzureWebJobsStorage__accountName": "hosts"},
            "https://hosts.blob.core.windows.net",
            None,
        ),
        ({"ARCHIVE": "blob", "AzureWebJobsStorage": EMULATOR}, None, EMULATOR),
        ({"ARCHIVE_ENDPOINT": "https://own.example", "AzureWebJobsStorage": EMULATOR}, "https://own.example", None),
    ],
)
def test_blobs_are_in_the_account_that_is_named_else_in_that_of_the_host(
    environment: dict[str, str], endpoint: str | None, connection: str | None
) -> None:
    archive = chosen(**environment)
    assert isinstance(archive, BlobArchive)
    assert (archive._url, archive._connection_string) == (endpoint, connection)
    assert (archive._credential is None) is (endpoint is None)


@pytest.mark.parametrize("storage", ["", LOCAL_HOST])
def test_a_host_without_blobs_needs_another_account(storage: str) -> None:
    with pytest.raises(WrongSettings, match="ARCHIVE_ENDPOINT or ARCHIVE_CONNECTION must be set"):
        chosen(ARCHIVE="blob", AzureWebJobsStorage=storage)
