"""Microsoft's library needs Python 3.13, which is what Azure runs; `.ci/run` insists on that run."""

import sys

import pytest

collect_ignore_glob = [] if sys.version_info >= (3, 13) else ["test_*.py"]


def pytest_report_header() -> str:
    if collect_ignore_glob:
        return "conformance: not on this Python; run `python3.13 scripts/dev.py test` for Microsoft's runtime library"
    return "conformance: with azure-functions-runtime"


def pytest_configure(config: pytest.Config) -> None:
    if not collect_ignore_glob:
        import azure_functions_runtime  # noqa: F401  (absent, this fails the whole run rather than leave it out)
