"""checkov, azmcp and azure-functions-doctor have an environment of their own: `dev.py infra` runs these tests there."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("checkov") else ["test_*.py"]


def pytest_report_header() -> str:
    there = "checkov, azmcp and azure-functions-doctor"
    return f"infra: without {there}; run `dev.py infra`" if collect_ignore_glob else f"infra: with {there}"
