"""Mutation tests: which tests reach which module, the trials of its mutants, and what survived them."""

from __future__ import annotations

import argparse
import gc
import io
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Generic, Self, TypeVar

import pytest
from hypothesis import Phase, settings

from scripts.mutation import trial
from scripts.mutation.dependents import Imports, module_name
from scripts.mutation.mutants import Mutant, async_functions, module_mutants, pure_modules

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[2]
TEST_FOLDERS = ("unit", "properties")
LEAST_KILLED = 0.9
MOST_SECONDS = 3.0
"""The most seconds of tests for one mutant: the tests of its own module first, then the quickest."""
LONGEST_RECORD_SECONDS = 900.0
LONGEST_SECONDS = 180.0
"""After which a process that only waits is killed. One that computes is limited by each test's usual processor time."""
PROGRESS_SECONDS = 20.0

settings.register_profile(
    "mutate",
    derandomize=True,
    deadline=None,
    database=None,
    report_multiple_bugs=False,
    phases=(Phase.explicit, Phase.generate),
)


@dataclass
class Tests:
    """The tests that passed without a mutation: how long each took, and which functions of which file it called."""

    seconds: dict[str, float]
    calls: dict[str, set[tuple[str, str]]]
    called_at_import: dict[str, set[str]]


@dataclass
class Result:
    module: str
    total: int
    killed: int = 0
    survivors: list[Mutant] = field(default_factory=list)

    @property
    def done(self) -> bool:
        return self.killed + len(self.survivors) == self.total

    def unexplained(self, known: dict[str, str]) -> list[Mutant]:
        return [each for each in self.survivors if not known.get(str(each))]

    def is_enough(self) -> bool:
        """Nine of ten are killed; of a module with fewer than ten mutants one may survive."""
        return len(self.survivors) <= max(1, int(self.total * (1 - LEAST_KILLED) + 1e-9))


class MutationSession:
    """A plugin that runs the trials in place of the session's tests."""

    def __init__(
        self, root: Path, modules: Sequence[str], known: dict[str, str], jobs: int, say: Callable[[str], None]
    ) -> None:
        self.root = root
        self.known = known
        self.jobs = jobs
        self.say = say
        self.imports = Imports(root)
        self.trees = {module: module_mutants(module, (root / module).read_text()) for module in modules}
        self.files = {module: self._test_files(module) for module in modules}
        self.results = {module: Result(module, len(mutants)) for module, (_, mutants) in self.trees.items()}

    def _test_files(self, module: str) -> list[str]:
        """The unit tests of the module's package, and all unit and property tests that import the module."""
        parts = Path(module).parts
        package = parts[1] if parts[0] == "services" else parts[0]
        found = {
            path.relative_to(self.root).as_posix() for path in (self.root / "tests/unit" / package).rglob("test_*.py")
        }
        for name in self.imports.importers(module_name(Path(module))):
            tests, *folders = name.split(".")
            if tests == "tests" and folders[0] in TEST_FOLDERS and folders[-1].startswith("test_"):
                found.add("/".join((tests, *folders)) + ".py")
        return sorted(found)

    def test_files(self) -> list[str]:
        return sorted({file for files in self.files.values() for file in files})

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:
            raise session.Interrupted("the tests could not be collected")
        self.warm = trial.Warm({item.nodeid: item for item in session.items})
        session.config.pluginmanager.register(self.warm.failures)
        gc.freeze()  # keeps the pages of what exists shared between the processes
        started = time.monotonic()
        self.tests = self._run_without_mutations(session.items)
        self.warm.failures.usual_seconds = self.tests.seconds
        self.say(f"{len(self.tests.seconds)} tests pass without a mutation, {time.monotonic() - started:.0f} s")
        self._run_trials()
        return True

    def _run_without_mutations(self, items: Sequence[pytest.Item]) -> Tests:
        """Runs every test once, in processes of their own, and records the functions that it calls."""
        files = {str(self.root / module) for module in self.trees}
        by_file: dict[str, list[pytest.Item]] = defaultdict(list)
        for item in items:
            by_file[item.nodeid.partition("::")[0]].append(item)
        tests = Tests({}, {}, {})
        waiting: deque[tuple[str, Callable[[Path], int]]] = deque()
        for file, group in by_file.items():
            waiting.append((file, partial(self._record, group, files)))
        for module in self.trees:
            waiting.append((module, partial(self._record_import, module)))
        with _Children[str](self.jobs) as children:
            while waiting or children.running:
                if waiting and children.has_room():
                    name, work = waiting.popleft()
                    children.start(name, LONGEST_RECORD_SECONDS, work)
                    continue
                name, outcome, folder = children.wait()
                if outcome != trial.SURVIVED:
                    raise pytest.UsageError(f"{name} cannot be run without a mutation {_error(folder)}")
                if name in self.trees:
                    tests.called_at_import[name] = pickle.loads((folder / "record").read_bytes())  # noqa: S301
                else:
                    seconds, calls, failed = pickle.loads((folder / "record").read_bytes())  # noqa: S301
                    tests.seconds.update(seconds)
                    tests.calls.update(calls)
                    for each in failed:
                        self.say(f"Left out, since it fails without a mutation: {each}")
                shutil.rmtree(folder, ignore_errors=True)
        return tests

    def _record(self, items: Sequence[pytest.Item], files: set[str], folder: Path) -> int:
        seconds: dict[str, float] = {}
        calls: dict[str, set[tuple[str, str]]] = {}
        failed: list[str] = []
        for item, following in zip(items, [*items[1:], None], strict=True):
            started, before = time.process_time(), self.warm.failures.failed
            with trial.recorded_calls(files) as called:
                item.ihook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.warm.failures.failed > before:
                failed.append(item.nodeid)
            else:
                seconds[item.nodeid], calls[item.nodeid] = time.process_time() - started, called
        (folder / "record").write_bytes(pickle.dumps((seconds, calls, failed)))
        return trial.SURVIVED

    def _record_import(self, module: str, folder: Path) -> int:
        dependents = self.imports.dependents(module_name(Path(module)))
        (folder / "record").write_bytes(pickle.dumps(trial.called_at_import(self.root / module, dependents)))
        return trial.SURVIVED

    def _picked(self, mutant: Mutant, quick: bool) -> list[str]:
        """The tests that decide about a mutant, in the order in which they are run. In a quick trial only those that
        reach the function; otherwise all, since other modules may read what was made at import."""
        path = str(self.root / mutant.module)
        files = set(self.files[mutant.module])
        direct = f"test_{Path(mutant.module).stem}.py"

        def is_reached(name: str) -> bool:
            scopes = (scope for file, scope in self.tests.calls[name] if file == path)
            return any(not mutant.in_function or _is_within(mutant.scope, scope) for scope in scopes)

        def order(name: str) -> tuple[bool, bool, float]:
            return not name.partition("::")[0].endswith(f"/{direct}"), not is_reached(name), self.tests.seconds[name]

        found = [name for name in self.tests.seconds if name.partition("::")[0] in files]
        if quick:
            found = [name for name in found if is_reached(name)]
        found.sort(key=order)
        total = 0.0
        picked: list[str] = []
        for name in found:
            total += self.tests.seconds[name]
            if picked and total > MOST_SECONDS:
                break
            picked.append(name)
        return picked

    def _run_trials(self) -> None:
        waiting = deque((mutant, mutant.in_function) for _, mutants in self.trees.values() for mutant in mutants)
        tried, total, started, shown = 0, len(waiting), time.monotonic(), time.monotonic()
        with _Children[tuple[Mutant, bool]](self.jobs) as children:
            while waiting or children.running:
                if waiting and children.has_room():
                    mutant, quick = waiting.popleft()
                    if picked := self._picked(mutant, quick):
                        children.start((mutant, quick), LONGEST_SECONDS, partial(self._try, mutant, quick, picked))
                    elif quick and self._runs_at_import(mutant):
                        waiting.appendleft((mutant, False))
                    else:
                        self._note(mutant, killed=False)
                    continue
                (mutant, quick), outcome, folder = children.wait()
                if outcome == trial.BROKEN:
                    raise pytest.UsageError(f"the tests of this mutant could not be run: {mutant} {_error(folder)}")
                shutil.rmtree(folder, ignore_errors=True)
                if quick and (outcome == trial.UNSURE or (outcome == trial.SURVIVED and self._runs_at_import(mutant))):
                    waiting.appendleft((mutant, False))
                    continue
                self._note(mutant, killed=outcome != trial.SURVIVED)
                tried += 1
                if time.monotonic() - shown > PROGRESS_SECONDS:
                    shown = time.monotonic()
                    self.say(f"... {tried} of {total} mutants, {shown - started:.0f} s")

    def _runs_at_import(self, mutant: Mutant) -> bool:
        return any(_is_within(mutant.scope, scope) for scope in self.tests.called_at_import[mutant.module])

    def _try(self, mutant: Mutant, quick: bool, picked: Sequence[str], folder: Path) -> int:
        tree, _ = self.trees[mutant.module]
        mutant.apply()
        path = self.root / mutant.module
        if quick:
            return trial.in_place(tree, path, self.warm, picked)
        name = module_name(Path(mutant.module))
        return trial.imported_again(tree, path, name, self.imports.dependents(name), self.warm, picked)

    def _note(self, mutant: Mutant, killed: bool) -> None:
        result = self.results[mutant.module]
        if killed:
            result.killed += 1
        else:
            result.survivors.append(mutant)
        if result.done:
            self.say(f"{result.module}: {result.killed} of {result.total} killed ({result.killed / result.total:.0%})")
            for each in result.unexplained(self.known):
                self.say(f"{each}\n    # {each.module}:{each.line}")


def _is_within(scope: str, called: str) -> bool:
    """Whether the function that was called is the mutant's, or one around it, or within it."""
    called = called.replace(".<locals>", "")
    return scope == called or scope.startswith(f"{called}.") or called.startswith(f"{scope}.")


def _error(folder: Path) -> str:
    error = folder / "error"
    return f"\n{error.read_text()}" if error.exists() else ""


class _Children(Generic[T]):
    """Forked processes, so many at a time, each with a folder of its own and a time by which it must have ended."""

    def __init__(self, jobs: int) -> None:
        self.jobs = jobs
        self.running: dict[int, tuple[T, float, Path]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for child, (*_, folder) in self.running.items():
            with suppress(ProcessLookupError):  # it may have no group of its own yet
                os.killpg(child, signal.SIGKILL)
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            shutil.rmtree(folder, ignore_errors=True)

    def has_room(self) -> bool:
        return len(self.running) < self.jobs

    def start(self, subject: T, seconds: float, work: Callable[[Path], int]) -> None:
        folder = Path(tempfile.mkdtemp(prefix="mutate-"))
        child = os.fork()
        if not child:
            outcome = trial.BROKEN
            try:
                os.setsid()
                trial.confine(folder)
                outcome = work(folder)
            except MemoryError:
                outcome = trial.KILLED
            except BaseException:
                (folder / "error").write_text(traceback.format_exc())
            finally:
                os._exit(outcome)
        self.running[child] = subject, time.monotonic() + seconds, folder

    def wait(self) -> tuple[T, int, Path]:
        """The first process that ends. One that has run out of time is killed, and counts as a killed mutant."""
        while True:
            for child, (subject, until, folder) in self.running.items():
                ended, status = os.waitpid(child, os.WNOHANG)
                if not ended and time.monotonic() > until:
                    os.killpg(child, signal.SIGKILL)
                    ended, status = os.waitpid(child, 0)
                if ended:
                    del self.running[child]
                    code = os.waitstatus_to_exitcode(status)
                    return subject, trial.KILLED if code < 0 else code, folder
            time.sleep(0.002)


# The survivors that are known, each with a reason.


def read_survivors(text: str) -> dict[str, str]:
    """Reasons by mutant. A line that is not indented is a mutant; the indented lines under it are the reason."""
    found: dict[str, str] = {}
    mutant = ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line[0].isspace():
            found[mutant] = f"{found[mutant]} {line.strip()}".strip()
        else:
            mutant = line.strip()
            found[mutant] = ""
    return found


def report(results: Sequence[Result], known: dict[str, str], stale: Sequence[str], say: Callable[[str], None]) -> bool:
    """Says what is wrong, if anything: survivors without a reason, too many survivors in a module, or stale entries of
    the list."""
    unexplained = sum(len(each.unexplained(known)) for each in results)
    if unexplained:
        say(
            f"\n{unexplained} survivors have no reason. Write a test that fails, or list the survivor as it is printed"
            " under its module, with a reason, in tests/mutation/survivors.txt."
        )
    scarce = [each for each in results if not each.is_enough()]
    for result in scarce:
        say(f"{result.module}: only {result.killed} of {result.total} mutants are killed.")
    modules = {result.module for result in results}
    survived = {str(each) for result in results for each in result.survivors}
    for mutant in known:
        if mutant.partition(" | ")[0] in modules and mutant not in survived and mutant not in stale:
            say(f"Listed as a survivor, but killed: {mutant}")
    if stale:
        say("\nListed as survivors, but no mutants any more. Delete these lines of tests/mutation/survivors.txt:")
        for mutant in stale:
            say(f"{mutant}\n    {known[mutant]}")
    total, killed = sum(each.total for each in results), sum(each.killed for each in results)
    say(f"\n{killed} of {total} mutants killed ({killed / max(total, 1):.1%}) in {len(results)} modules.")
    return not unexplained and not scarce and not stale


def stale_survivors(root: Path, known: Iterable[str]) -> list[str]:
    """The listed survivors, of whatever module, that are no mutants of the source as it is."""
    by_module: dict[str, list[str]] = defaultdict(list)
    for mutant in known:
        by_module[mutant.partition(" | ")[0]].append(mutant)
    stale: list[str] = []
    for module, listed in by_module.items():
        path = root / module
        existing = {str(each) for each in module_mutants(module, path.read_text())[1]} if path.is_file() else set()
        stale += [each for each in listed if each not in existing]
    return stale


def mutate(root: Path, modules: Sequence[str], known: dict[str, str], jobs: int, say: Callable[[str], None]) -> bool:
    for module in modules:
        if unchanged := async_functions((root / module).read_text()):
            say(f"{module}: only its sync functions are mutated, not {', '.join(unchanged)} (async).")
    plugin = MutationSession(root, modules, known, jobs, say)
    output = io.StringIO()
    with redirect_stdout(output), redirect_stderr(output):
        outcome = pytest.main([*trial.OPTIONS, "--rootdir", str(root), *plugin.test_files()], plugins=[plugin])
    if outcome != pytest.ExitCode.OK:
        say(output.getvalue())
        return False
    return report(list(plugin.results.values()), known, stale_survivors(root, known), say)


def main(argv: Sequence[str], root: Path = ROOT) -> None:
    parser = argparse.ArgumentParser(
        prog="dev.py mutate", description="Mutation tests of the modules that only decide."
    )
    parser.add_argument(
        "modules", nargs="*", metavar="MODULE", help="a file such as services/feeds/schedule.py, or a folder"
    )
    parser.add_argument("--list", action="store_true", help="print the modules that only decide, and stop")
    parser.add_argument(
        "--jobs", type=int, default=os.cpu_count() or 1, help="processes at a time (default: all cores)"
    )
    arguments = parser.parse_args(argv)
    pure = pure_modules(root)
    if arguments.list:
        print("\n".join(pure))
        return
    modules = pure
    if arguments.modules:
        wanted = [Path(each).resolve().relative_to(root).as_posix() for each in arguments.modules]
        modules = []
        for name in wanted:
            found = [name] if (root / name).is_file() else [each for each in pure if each.startswith(f"{name}/")]
            if not found:
                parser.error(f"{name} is neither a module nor a folder with a module that only decides")
            modules += [each for each in found if each not in modules]
    survivors = root / "tests" / "mutation" / "survivors.txt"
    known = read_survivors(survivors.read_text()) if survivors.exists() else {}
    with os.fdopen(os.dup(1), "w") as out:
        is_good = mutate(root, modules, known, arguments.jobs, lambda text: print(text, file=out, flush=True))
    raise SystemExit(0 if is_good else 1)


if __name__ == "__main__":
    main(sys.argv[1:], Path.cwd())
