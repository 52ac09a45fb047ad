"""The dashboard stays small. Needs no browser."""

import re

from triggers.http_page import shipped_files

MAX_BYTES = 200_000
MAX_FILES = 70


def test_all_files_together_stay_in_their_budget() -> None:
    files = shipped_files()
    sizes = {name: len(asset.zipped) for name, asset in files.assets.items()}
    assert sum(sizes.values()) + len(files.page.zipped) <= MAX_BYTES, sizes
    assert len(sizes) <= MAX_FILES


def test_no_asset_is_loaded_from_elsewhere() -> None:
    for name, asset in shipped_files().assets.items():
        if name.endswith((".js", ".css")):
            assert not re.search(rb"(?:import|from|url\()\s*[\"'(]?https?:", asset.content), name
