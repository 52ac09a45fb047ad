"""What protects a file of the embedded store from an upgrade: a copy before it, and a refusal if the file is newer.

The file is read as it is, before anything opens it to bring it up to date. A file that cannot be read is left to
`open_file`, which says why.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Final, NamedTuple

from models.errors import Unusable
from services.store import sqlite_sql

_RECORDS: Final = (
    "SELECT CAST(id AS INTEGER), body ->> 'name', body ->> 'completed_at' IS NOT NULL FROM catalog"
    " WHERE pk = 'MIGRATION' ORDER BY id"
)


def copy_before_upgrade(path: Path, newest: int) -> Path | None:
    """Copies the file if it is older than this program, whose last migration is `newest`. Returns the copy's path; None
    if there is nothing to upgrade. The copies of earlier upgrades are deleted.

    Raises Unusable if a newer program has written the file, or if the copy cannot be made.
    """
    found = _versions(path)
    if found is None or found.schema > sqlite_sql.SCHEMA_VERSION:  # open_file refuses a newer schema
        return None
    schema, completed, begun = found
    if newer := [f"{number:04d} {name}" for number, name in begun.items() if number > newest]:
        raise Unusable(
            f"{path} was migrated by a newer version ({', '.join(newer)}): "
            "run that version, or restore a backup that was made before"
        )
    if schema == sqlite_sql.SCHEMA_VERSION and completed >= set(range(1, newest + 1)):
        return None
    first = min(set(range(1, newest + 1)) - completed, default=newest)
    target = path.with_name(f"{path.stem}.before-{first:04d}{path.suffix}")
    try:
        _copy(path, target)
    except (sqlite3.Error, OSError) as error:
        raise Unusable(
            f"the copy {target} before the upgrade cannot be made ({error}): "
            "check the rights of the folder and the space on its disk"
        ) from error
    for other in path.parent.glob(f"{path.stem}.before-????{path.suffix}"):
        if other != target:
            other.unlink(missing_ok=True)
    return target


class _Versions(NamedTuple):
    """`completed` has the numbers of migrations, `begun` their names too."""

    schema: int
    completed: set[int]
    begun: dict[int, str]


def _versions(path: Path) -> _Versions | None:
    """None if there is nothing to protect."""
    if not path.is_file():
        return None
    try:
        with closing(sqlite3.connect(path, timeout=8)) as connection:
            (schema,) = connection.execute("PRAGMA user_version").fetchone()
            records = connection.execute(_RECORDS).fetchall()
    except sqlite3.Error:
        return None
    completed = {number for number, _, is_done in records if is_done}
    return _Versions(schema, completed, {number: name for number, name, _ in records})


def _copy(path: Path, target: Path) -> None:
    """A copy that exists was made before an upgrade that was interrupted, so it is the older one, and stays."""
    if target.exists():
        return
    part = target.with_name(target.name + ".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(path, timeout=8)) as source, closing(sqlite3.connect(part)) as copy:
        source.backup(copy)
    os.replace(part, target)
