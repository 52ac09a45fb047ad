"""The pure modules of the dashboard are tested where they run: in JavaScript, by Node's own test runner."""

import re
import shutil
import subprocess

from tests.hosting import ROOT

TESTS = ROOT / "tests" / "page"
I18N = ROOT / "triggers" / "page" / "dashboard"


def test_the_modules_pass_their_tests() -> None:
    node = shutil.which("node")
    assert node is not None, "Node.js is needed, as for the Cosmos-compatible server"
    files = sorted(str(path) for path in TESTS.glob("*.test.mjs"))
    done = subprocess.run([node, "--test", *files], cwd=ROOT, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_every_text_that_a_view_names_is_in_english() -> None:
    english = (I18N / "i18n" / "en.js").read_text("utf-8")
    known = set(re.findall(r'^  "([\w.]+)":', english, re.MULTILINE))
    used = set()
    for path in I18N.rglob("*.js"):
        used |= set(re.findall(r'\bt\("([\w.]+)"', path.read_text("utf-8")))
    assert used - known == set()
