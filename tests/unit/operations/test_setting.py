"""What a field of `Settings` declares."""

import dataclasses
from typing import Any

import pytest

from services.setting import Setting, row_of, setting


def declared(declaration: Any) -> Setting:
    made = dataclasses.make_dataclass("Made", [("some_limit", int, declaration)])
    (field,) = dataclasses.fields(made)
    return row_of("some_limit", field)


def test_a_setting_has_its_attribute_in_upper_case_as_name_and_its_default_in_the_sample() -> None:
    row = declared(setting(7, "A limit", between=(1, 9)))
    assert (row.attribute, row.name, row.kind, row.default) == ("some_limit", "SOME_LIMIT", "whole number", 7)
    assert (row.key, row.sample, row.secret, row.has_effect, row.separator) == (None, "7", False, True, "")
    assert row.allowed == "must be a whole number from 1 to 9"


@pytest.mark.parametrize(("key", "expected"), [(None, "fetcher.some_limit"), ("limit", "fetcher.limit")])
def test_with_a_section_the_file_can_set_it_and_the_sample_leaves_it_out(key: str | None, expected: str) -> None:
    row = declared(setting(7, "A limit", section="fetcher", key=key))
    assert (row.key, row.sample) == (expected, None)


def test_another_sample_or_none_can_be_given() -> None:
    assert declared(setting(7, "A limit", sample="8")).sample == "8"
    assert declared(setting(7, "A limit", sample=None)).sample is None


def test_a_setting_can_have_another_name_and_no_effect() -> None:
    row = declared(setting(7, "A limit", name="Other", has_effect=False))
    assert (row.name, row.has_effect) == ("Other", False)
