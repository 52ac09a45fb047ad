"""Mutation tests of the named modules, with mutmut: each small change of a module should fail one of its unit tests.

    python3 scripts/dev.py mutate services/feeds/volume.py [...]

The tests are tests/unit/<package>/test_<module>.py, or all of the package if there is no such file. Works on a copy of
the tracked files, so the work tree stays as it is. Prints each change that no test noticed, and fails if there is one.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("benchmarks", "config", "models", "scripts", "services", "tests", "toolpulse", "triggers", "function_app.py")


def tests_of(module: Path) -> str:
    """The unit tests of the module, as mutmut is told of them."""
    parts = module.with_suffix("").parts
    package = Path("tests", "unit", parts[0] if parts[0] in ("models", "triggers", "toolpulse") else parts[1])
    own = package / f"test_{parts[-1]}.py"
    return str(own if (ROOT / own).exists() else package)


def copy_tree(target: Path, modules: list[Path]) -> None:
    """A copy of the tracked files, with mutmut's settings for these modules."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in listed.splitlines():
        if (name.partition("/")[0] in COPIED or "/" not in name) and (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target / name)
    settings = {
        "source_paths": [str(each) for each in modules],
        "pytest_add_cli_args_test_selection": sorted({tests_of(each) for each in modules}),
        "pytest_add_cli_args": ["-p", "no:randomly", "-m", "not slow and not soak"],
        "also_copy": list(COPIED),
    }
    with (target / "pyproject.toml").open("a", encoding="utf-8") as project:
        project.write("\n[tool.mutmut]\n")
        project.writelines(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())


def main() -> int:
    parser = argparse.ArgumentParser(prog="dev.py mutate", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("modules", nargs="+", type=Path, metavar="MODULE", help="a file of models or services")
    modules = [each.resolve().relative_to(ROOT) for each in parser.parse_args().modules]
    mutmut = [sys.executable, "-m", "mutmut"]
    with tempfile.TemporaryDirectory() as folder:
        copy_tree(Path(folder), modules)
        if code := subprocess.run([*mutmut, "run"], cwd=folder, check=False).returncode:
            return code
        results = subprocess.run([*mutmut, "results"], cwd=folder, capture_output=True, text=True, check=True).stdout
        survivors = [line.split(":")[0].strip() for line in results.splitlines() if not line.endswith(": killed")]
        for name in survivors:
            subprocess.run([*mutmut, "show", name], cwd=folder, check=False)
    print(f"{len(survivors)} changes that no test noticed" if survivors else "every change failed a test")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
