"""One mutant against its tests, in a process that is forked for it.

The process inherits a pytest session whose tests are collected and whose modules are imported. A mutant within a
function is put into the imported functions, so that a trial takes milliseconds. What runs at import (constants,
classes, defaults) takes a second: the module and all that import it are imported again, from the mutated source.
"""

from __future__ import annotations

import ast
import gc
import importlib.abc
import importlib.util
import os
import resource
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import CodeType, FrameType, FunctionType, ModuleType

import pytest

SURVIVED, KILLED, UNSURE, BROKEN = 0, 1, 3, 4
MOST_MEMORY = 6 << 30

# Nothing is written, the order is fixed, and hypothesis does not shrink the examples that fail.
OPTIONS = ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", "no:xdist", "--hypothesis-profile=mutate"]
OPTIONS += ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-m", "not slow"]


def confine(folder: Path) -> None:
    """Sends all output nowhere and temporary files to `folder`, and limits the memory."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nowhere, descriptor)
    for name in ("TMPDIR", "PYTEST_DEBUG_TEMPROOT"):
        os.environ[name] = str(folder)
    resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))


class Failures:
    """Counts failed tests, and ends the process at a test that takes far longer than without a mutation."""

    def __init__(self) -> None:
        self.failed = 0
        self.usual_seconds: dict[str, float] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if usual := self.usual_seconds.get(item.nodeid):
            limit = int(time.process_time() + 5 * usual) + 2
            resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.RLIM_INFINITY))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.failed += report.failed


def functions_by_place() -> dict[tuple[str, str, int], list[FunctionType]]:
    """All functions that exist, by file, qualified name and first line."""
    found: dict[tuple[str, str, int], list[FunctionType]] = {}
    for each in gc.get_objects():
        if isinstance(each, FunctionType):
            code = each.__code__
            found.setdefault((code.co_filename, code.co_qualname, code.co_firstlineno), []).append(each)
    return found


def put_in_place(code: CodeType, functions: dict[tuple[str, str, int], list[FunctionType]]) -> bool:
    """Gives the functions of a module their mutated code. False if one cannot take it."""
    for each in code.co_consts:
        if isinstance(each, CodeType):
            for function in functions.get((each.co_filename, each.co_qualname, each.co_firstlineno), ()):
                try:
                    function.__code__ = each
                except ValueError:  # the mutation changed which outer variables the function uses
                    return False
            if not put_in_place(each, functions):
                return False
    return True


def caches() -> list[_lru_cache_wrapper[object]]:
    return [each for each in gc.get_objects() if isinstance(each, _lru_cache_wrapper)]


@dataclass
class Warm:
    """What a process inherits: the tests that are collected, and the functions and caches that exist."""

    items: dict[str, pytest.Item]
    functions: dict[tuple[str, str, int], list[FunctionType]] = field(default_factory=functions_by_place)
    caches: list[_lru_cache_wrapper[object]] = field(default_factory=caches)
    failures: Failures = field(default_factory=Failures)


def in_place(tree: ast.Module, path: Path, warm: Warm, picked: Sequence[str]) -> int:
    """Runs the picked tests against the mutated functions."""
    if not put_in_place(compile(tree, str(path), "exec", dont_inherit=True), warm.functions):
        return UNSURE
    for cache in warm.caches:
        cache.cache_clear()
    items = [warm.items[name] for name in picked]
    for item, following in zip(items, [*items[1:], None], strict=True):
        try:
            item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
        except Exception:  # of a fixture or a plugin that uses the mutated function
            return KILLED
        if warm.failures.failed:
            return KILLED
    return SURVIVED


class _MutatedModule(SourceFileLoader):
    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        return self._code


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: Path, code: CodeType) -> None:
        self._name, self._path, self._code = name, path, code

    def find_spec(self, name: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != self._name:
            return None
        loader = _MutatedModule(name, str(self._path), self._code)
        return importlib.util.spec_from_file_location(name, self._path, loader=loader)


class _Picked:
    """A plugin that runs only the tests that were picked, in their order."""

    def __init__(self, picked: Iterable[str]) -> None:
        self._order = {name: number for number, name in enumerate(picked)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items[:] = sorted(
            (each for each in items if each.nodeid in self._order), key=lambda each: self._order[each.nodeid]
        )


def forget(modules: Iterable[str]) -> list[str]:
    """Makes the next import of these modules load them anew. Returns those that were imported."""
    forgotten = []
    for each in modules:
        module = sys.modules.pop(each, None)
        package, _, own = each.rpartition(".")
        if module is not None:
            forgotten.append(each)
            if getattr(sys.modules.get(package), own, None) is module:
                delattr(sys.modules[package], own)
    return forgotten


def imported_again(
    tree: ast.Module, path: Path, name: str, dependents: Iterable[str], warm: Warm, picked: Sequence[str]
) -> int:
    """Imports the mutated module and its dependents anew, and runs the picked tests in sessions of their own: those of
    the first file, which import little, and then the others."""
    code = compile(tree, str(path), "exec", dont_inherit=True)
    sys.meta_path.insert(0, _Finder(name, path, code))
    files = [each.partition("::")[0] for each in picked]
    dependents = list(dependents)
    for is_first in (True, False):
        part = [each for each, file in zip(picked, files, strict=True) if (file == files[0]) is is_first]
        forget(dependents)
        if part and not _passes(part, warm):
            return KILLED
    return SURVIVED


def _passes(picked: Sequence[str], warm: Warm) -> bool:
    files = dict.fromkeys(each.partition("::")[0] for each in picked)
    try:
        outcome = pytest.main([*OPTIONS, "-x", *files], plugins=[_Picked(picked), warm.failures])
    except BaseException:  # raised at import where pytest expects no error, such as in a plugin
        return False
    # Any error kills: a conftest.py that cannot be imported is an error of usage. No tests: their names have changed.
    return outcome in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED)


def called_at_import(path: Path, dependents: Iterable[str]) -> set[str]:
    """The functions of the module at `path` that are called while it and its dependents are imported."""
    with recorded_calls({str(path)}) as calls:
        for each in forget(dependents):
            importlib.import_module(each)
    return {scope for _, scope in calls}


@contextmanager
def recorded_calls(files: set[str]) -> Iterator[set[tuple[str, str]]]:
    """Records which functions of `files` are called, by file and qualified name. Filled when the block ends."""
    called: set[CodeType] = set()
    result: set[tuple[str, str]] = set()

    def note(frame: FrameType, event: str, argument: object) -> None:
        called.add(frame.f_code)

    threading.settrace(note)
    sys.settrace(note)
    try:
        yield result
    finally:
        sys.settrace(None)
        threading.settrace(None)
        result.update((each.co_filename, each.co_qualname) for each in [*called] if each.co_filename in files)
