"""Detection of any names in any text never fails, returns the spans of names, and finds a name that stands alone."""

from __future__ import annotations

import contextlib
from uuid import NAMESPACE_DNS, uuid5

from hypothesis import assume, given
from hypothesis import strategies as st

from models.errors import InvalidInput
from models.tool import NameRule, Tool, normalize_name
from services.tools.catalog import new_tool
from services.tools.detector import Detector
from services.tools.matching import normalize, tokens
from tests.documents import NOW

# Letters of many scripts, marks, compatibility forms, signs, spaces of every kind.
ANY = st.text(st.characters(codec="utf-8"), max_size=60)
SIGNS = "aAbß İıﬁéé#+.-$:@&'\n\t\u00a0\u3000中文あア가नि"
MIXED = st.text(st.sampled_from(SIGNS), max_size=40)
NAMES = st.lists(MIXED | ANY, min_size=1, max_size=4)


def tools(names: list[str]) -> list[Tool]:
    found: dict[str, Tool] = {}
    for given_name in names:
        with contextlib.suppress(InvalidInput):
            name = new_tool({"name": given_name})["primary_name"]
            plain = normalize_name(name)
            rules = {name: NameRule()}
            tool_id = str(uuid5(NAMESPACE_DNS, plain))
            tool = Tool(created_at=NOW, tool_id=tool_id, primary_name=name, name_rules=rules)
            found.setdefault(plain, tool)
    return list(found.values())


@given(NAMES, ANY | MIXED, ANY | MIXED)
def test_spans_are_within_the_texts_and_contain_the_name(names: list[str], headline: str, text: str) -> None:
    detector = Detector(tools(names))
    for tool_id, detected in detector.find(headline, text, (headline[:10],)).items():
        for whole, spans in ((headline, detected.headline_spans), (text, detected.text_spans)):
            for start, end in spans:
                assert 0 <= start < end <= len(whole)
                assert normalize_name(whole[start:end]) == detector.tools[tool_id].primary_name_normalized


@given(NAMES, MIXED)
def test_a_name_that_stands_alone_is_found(names: list[str], text: str) -> None:
    known = tools(names)
    assume(known)
    wanted = known[0]
    assume("://" not in wanted.primary_name)
    found = Detector(known).find(f"{wanted.primary_name}")
    assert wanted.tool_id in found


@given(ANY | MIXED)
def test_normalizing_twice_is_normalizing_once_and_origins_go_up(text: str) -> None:
    normalized = normalize(text)
    origins = [normalized.original_span(n, n + 1)[0] for n in range(len(normalized.text))]
    assert origins == sorted(origins)
    assert all(0 <= origin < len(text) for origin in origins)
    assert tokens(normalize(normalized.text).text) == tokens(normalized.text)
