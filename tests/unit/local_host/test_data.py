"""A data folder that cannot be used is refused by one sentence with its path and what to do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from scripts.local_host import Refused
from scripts.local_host.data import DataFolder

_ON_A_FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from scripts.local_host import Refused
from scripts.local_host.data import DataFolder
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    DataFolder(Path(sys.argv[1]))
except Refused as refused:
    print(refused)
"""
ROOT = Path(__file__).parents[3]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on the size of files")
@pytest.mark.parametrize("most_bytes", [0, 100])
def test_a_disk_without_space_is_named_with_what_to_do(tmp_path: Path, most_bytes: int) -> None:
    command = [sys.executable, "-c", _ON_A_FULL_DISK, str(tmp_path / "data"), str(most_bytes)]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert str(tmp_path / "data") in ended.stdout
    assert "Check its rights and the space on its disk, or choose another with --data" in ended.stdout
    assert ended.stderr == ""


def test_a_folder_that_cannot_be_made_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(Refused, match=r"data folder .*/file/data cannot be used: .*\. Check its rights"):
        DataFolder(tmp_path / "file" / "data")
