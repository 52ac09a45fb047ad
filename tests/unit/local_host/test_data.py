"""A data folder that cannot be used is refused by one sentence with its path and what to do."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from scripts.local_host import Refused
from scripts.local_host.data import DataFolder
from scripts.local_host.queues import Queues

resource = pytest.importorskip("resource", reason="Windows has no limit on the size of files, and other rights")


@pytest.mark.parametrize("most_bytes", [0, 100])
def test_a_disk_without_space_is_named_with_what_to_do(tmp_path: Path, most_bytes: int) -> None:
    unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, unlimited[1]))
    try:
        with pytest.raises(Refused, match=rf"{tmp_path}.*Check its rights and the space on its disk, or choose"):
            DataFolder(tmp_path / "data")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Refused, match=r"data folder .*/file/data cannot be used: .*\. Check its rights"):
        DataFolder(tmp_path / "file" / "data")


def test_damage_within_the_file_of_the_queues_is_named_with_what_to_do(tmp_path: Path) -> None:
    with closing(DataFolder(tmp_path)) as folder:
        Queues(folder, lambda: 0.0, lambda *_: None).send([("work", "x" * 4000)] * 50)
    path = tmp_path / "host.sqlite"
    content = bytearray(path.read_bytes())
    content[len(content) // 2 :] = b"\xff" * len(content[len(content) // 2 :])
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"host\.sqlite cannot be used: .*\. Move it away to start with empty queues"):
        DataFolder(tmp_path)


def test_no_other_user_reads_the_folder_and_its_files(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    (folder / "archive").mkdir(0o755, parents=True)
    (folder / "toolpulse.db").touch(0o644)
    with closing(DataFolder(folder)) as opened:
        opened.rows("INSERT INTO queues (name) VALUES ('work')")
        assert (folder / "host.sqlite-wal").exists()
        assert [each for each in (folder, *folder.iterdir()) if each.stat().st_mode & 0o077] == []
