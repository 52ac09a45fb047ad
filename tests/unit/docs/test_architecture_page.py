"""docs/architecture.md lists the packages and containers of the code, and docs/adr/README.md every decision."""

import re
from pathlib import Path

from services.store.containers import CONTAINERS
from tests.unit.architecture.test_imports_point_inward import PACKAGES

DOCS = Path(__file__).resolve().parents[3] / "docs"


def test_the_page_lists_every_container_with_its_partition_key() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"<!-- containers -->\n(.*?)<!-- end -->", page, re.DOTALL)
    documented = dict(re.findall(r"^\| `(\w+)` \| `(\w+)` \|", table, re.MULTILINE))
    assert documented == {name: container.partition_key for name, container in CONTAINERS.items()}


def test_the_page_lists_the_packages_in_the_order_in_which_they_import() -> None:
    page = (DOCS / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("| package | what it knows |")[2].partition("\n\n")[0]
    listed = re.findall(r"^\| `services/(\w+)` \|", table, re.MULTILINE)
    assert listed == list(PACKAGES)


def test_the_index_lists_every_decision_in_order() -> None:
    index = (DOCS / "adr" / "README.md").read_text(encoding="utf-8")
    pages = sorted(path.name for path in (DOCS / "adr").glob("0*.md"))
    assert re.findall(r"\]\((0\S+)\)", index) == pages
