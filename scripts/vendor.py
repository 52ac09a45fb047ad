#!/usr/bin/env python3
"""Fetches the libraries of the dashboard from npm, at the versions below, into triggers/page/vendor.

    python3 scripts/dev.py vendor            fetch, and write the files with vendor.json
    python3 scripts/dev.py vendor --check    only compare the files with vendor.json

The files are committed: neither a run nor a deployment needs npm. To take another version, change it here and run the
command. Standard library only; `npm pack` brings a package, whose hash npm checks.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENDOR = ROOT / "triggers" / "page" / "vendor"
MANIFEST = VENDOR / "vendor.json"

_SOURCE_MAP = re.compile(r"\s*//# sourceMappingURL=\S+\s*$")
_BARE = re.compile(r'(from\s*|import\s*)"preact"')


@dataclass(frozen=True, slots=True)
class Library:
    """`files` maps a path in the package to the file in the folder `vendor`."""

    package: str
    version: str
    files: dict[str, str]


LIBRARIES = (
    Library(
        "preact",
        "10.29.8",
        {
            "dist/preact.module.js": "preact.js",
            "hooks/dist/hooks.module.js": "preact-hooks.js",
            "LICENSE": "preact.LICENSE.txt",
        },
    ),
    Library("htm", "3.1.1", {"dist/htm.module.js": "htm.js", "LICENSE": "htm.LICENSE.txt"}),
)


def adapted(source: str) -> str:
    """The module as a browser loads it without a bundler: imports by path, and no source map, which is not shipped."""
    return _BARE.sub(r'\1"./preact.js"', _SOURCE_MAP.sub("", source)).rstrip() + "\n"


def fetch(library: Library, folder: Path) -> dict[str, bytes]:
    """The files of one package by their name in `vendor`."""
    command = ["npm", "pack", "--silent", f"{library.package}@{library.version}", "--pack-destination", str(folder)]
    if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
        raise SystemExit(f"npm pack {library.package}@{library.version} failed: see its output above.")
    found = {}
    with tarfile.open(folder / f"{library.package}-{library.version}.tgz") as archive:
        for path, name in library.files.items():
            member = archive.extractfile(f"package/{path}")
            if member is None:
                raise SystemExit(f"{library.package} {library.version} has no file {path}.")
            text = member.read().decode("utf-8")
            found[name] = (adapted(text) if name.endswith(".js") else text).encode("utf-8")
    return found


def manifest_of(files: dict[str, bytes]) -> dict[str, object]:
    return {
        "libraries": {each.package: each.version for each in LIBRARIES},
        "sha256": {name: hashlib.sha256(content).hexdigest() for name, content in sorted(files.items())},
    }


def stored_files() -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in VENDOR.iterdir() if path.suffix in (".js", ".txt")}


def differences() -> list[str]:
    """What in the folder is not as vendor.json and LIBRARIES say."""
    known, found = json.loads(MANIFEST.read_text("utf-8")), manifest_of(stored_files())
    return [name for name in known.keys() | found.keys() if known.get(name) != found.get(name)]


def main(argv: list[str]) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--check", action="store_true", help="only compare the files with vendor.json")
    if parser.parse_args(argv).check:
        if found := differences():
            raise SystemExit(f"triggers/page/vendor differs from its vendor.json: {', '.join(sorted(found))}")
        return
    files: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for library in LIBRARIES:
            files |= fetch(library, Path(folder))
    VENDOR.mkdir(parents=True, exist_ok=True)
    for name in stored_files().keys() - files.keys():
        (VENDOR / name).unlink()
    for name, content in files.items():
        (VENDOR / name).write_bytes(content)
    MANIFEST.write_text(json.dumps(manifest_of(files), indent=2) + "\n", "utf-8")
    print(f"{len(files)} files, {sum(map(len, files.values())):,} bytes, in {VENDOR.relative_to(ROOT)}")


if __name__ == "__main__":
    main(sys.argv[1:])
