"""The set-up prints one line for each step, and all that pip printed only if pip failed."""

import subprocess
import sys

import pytest

from tests.hosting import ROOT, host_environment

_PIP = (
    "print('Collecting idna==3.10'); print('Collecting attrs==25.3.0');"
    "print('Installing collected packages: attrs, idna'); raise SystemExit({code})"
)
_INSTALL = """
import sys
from scripts import dev
code, output = dev.with_progress("Installing", [sys.executable, "-c", sys.argv[1]], 2)
print(code, len(output.splitlines()))
"""


@pytest.mark.parametrize("code", [0, 1])
def test_a_step_is_one_line_and_the_output_of_pip_is_kept(code: int) -> None:
    command = [sys.executable, "-c", _INSTALL, _PIP.format(code=code)]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=ROOT, env=host_environment(), timeout=300, check=True
    )
    assert done.stderr == "Installing ...\n"
    assert done.stdout == f"{code} 3\n"
