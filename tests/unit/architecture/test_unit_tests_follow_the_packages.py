"""A newcomer finds the unit tests of a package in the folder of the same name."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
UNIT = ROOT / "tests" / "unit"
OTHERS = {"architecture", "benchmarks", "demo", "docs", "local_host", "models", "toolpulse", "triggers"}


def folders(path: Path) -> set[str]:
    return {each.name for each in path.iterdir() if (each / "__init__.py").exists()}


def test_each_package_of_services_has_a_folder_of_unit_tests_and_there_are_no_others() -> None:
    assert folders(UNIT) == folders(ROOT / "services") | OTHERS


def test_each_folder_of_unit_tests_has_tests() -> None:
    assert [name for name in sorted(folders(UNIT)) if not [*(UNIT / name).glob("test_*.py")]] == []
