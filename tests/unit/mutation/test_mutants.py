"""Which mutants a module has, and which modules only decide."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.mutation.mutants import async_functions, is_pure, module_mutants
from scripts.mutation.session import read_survivors, stale_survivors


def changes(source: str) -> list[str]:
    _, mutants = module_mutants("models/example.py", source)
    return [f"{each.before} -> {each.after}" for each in mutants]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("X = 5", ["5 -> 6", "5 -> 4"]),
        ("X = 0", ["0 -> 1"]),
        ("X = 0.5", ["0.5 -> 0.55", "0.5 -> 0.45"]),
        ("X = True", ["True -> False"]),
        ("X = 'a'", ["'a' -> 'XXa'"]),
        ("X = a < b", ["a < b -> a <= b"]),
        ("X = a is not b", ["a is not b -> a is b"]),
        ("X = a and b", ["a and b -> a or b"]),
        ("X = not a", ["not a -> a"]),
        ("X = a + b", ["a + b -> a - b"]),
        ("X += b", ["X += b -> X -= b"]),
        ("X = min(a, b)", ["min -> max"]),
        ("X = a.startswith(b)", ["a.startswith -> a.endswith"]),
        ("def f():\n    return a", ["return a -> return None"]),
        ("def f():\n    return None", []),
        ("def f():\n    return False", ["False -> True"]),
        ("def f():\n    if a:\n        g()", ["a -> not a", "g() -> pass"]),
        ("def f():\n    if a == b:\n        raise g('message')", ["a == b -> a != b", "raise g('message') -> pass"]),
        ("def f():\n    a.b = c\n    d = c", ["a.b = c -> pass"]),
        ("X = [a for a in b if c]", ["c -> not c"]),
        ("X = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'}", ["'a' -> 'XXa'", "'e' -> 'XXe'", "'i' -> 'XXi'"]),
        ("class A:\n    size: Annotated[str, Field(max_length=9)]", ["9 -> 10", "9 -> 8"]),
    ],
)
def test_a_mutant_is_one_small_change(source: str, expected: list[str]) -> None:
    assert changes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""A docstring."""',
        "from a import b",
        "__all__ = ['a']",
        "X = setting(a, 'A description')",
        "X = Literal['a']",
        "X = A | B",
        "X: A | None",
        "def f(a: int | None) -> int | None: ...",
        "@dataclass(frozen=True)\nclass A: ...",
        "def f():\n    assert a > b",
        "def f():\n    log_event(log, 'name', count=1)",
        "if TYPE_CHECKING:\n    X = 5",
        "if __name__ == '__main__':\n    f(5)",
        "async def f():\n    return 5",
    ],
)
def test_what_no_test_could_notice_is_left_alone(source: str) -> None:
    assert changes(source) == []


def test_a_mutant_is_named_by_its_module_function_change_and_line_of_source() -> None:
    _, mutants = module_mutants("models/example.py", "class A:\n    def f(self):\n        g()  # why\n")
    assert [str(each) for each in mutants] == ["models/example.py | A.f | g() -> pass | g()  # why"]


def test_applying_a_mutant_changes_the_tree_that_is_compiled() -> None:
    tree, mutants = module_mutants("models/example.py", "X = 5")
    mutants[0].apply()
    names: dict[str, object] = {}
    exec(compile(tree, "example", "exec"), names)
    assert names["X"] == 6


@pytest.mark.parametrize(
    ("source", "pure"),
    [
        ("import math\nX = 5", True),
        ("async def f(): ...", False),
        ("import asyncio\nasync def f(): ...\n" + "X = 5\n" * 39, True),
        ("import asyncio\nasync def f(): ...\n" + "X = 5\n" * 36, False),
        ("from pathlib import Path\nTABLE = Path(__file__).with_name('table.tsv').read_text()", True),
        ("import sqlite3", False),
        ("def f():\n    from azure.cosmos import CosmosClient", False),
    ],
)
def test_a_module_that_is_mostly_async_or_imports_io_is_not_pure(source: str, pure: bool) -> None:
    assert is_pure(source) is pure


def test_async_functions_are_named_as_not_mutated() -> None:
    assert async_functions("def f(): ...\nclass A:\n    async def g(self): ...") == ["g"]


def test_a_listed_survivor_that_is_no_mutant_of_its_module_is_stale(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models/example.py").write_text("X = 5\n")
    current = "models/example.py | module | 5 -> 6 | X = 5"
    changed = "models/example.py | module | 4 -> 5 | X = 4"
    gone = "models/gone.py | module | 5 -> 6 | X = 5"
    assert stale_survivors(tmp_path, [current, changed, gone]) == [changed, gone]


def test_the_indented_lines_under_a_survivor_are_its_reason() -> None:
    text = "# a comment\n\na | b\n    The first\n    and the second line.\nc | d\n"
    assert read_survivors(text) == {"a | b": "The first and the second line.", "c | d": ""}


def test_every_listed_survivor_has_a_reason() -> None:
    listed = read_survivors((Path(__file__).parents[2] / "mutation" / "survivors.txt").read_text())
    assert [mutant for mutant, reason in listed.items() if not reason or mutant.count(" | ") < 3] == []
