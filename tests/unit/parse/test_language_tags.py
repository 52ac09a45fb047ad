"""A language tag names its language by its primary subtag."""

import pytest

from services.parse.language import primary_subtag


@pytest.mark.parametrize(
    ("tag", "language"),
    [
        ("en", "en"),
        ("EN", "en"),
        (" de-AT\n", "de"),
        ("pt_BR", "pt"),
        ("zh-Hans-CN", "zh"),
        ("nb", "no"),
        ("nn-NO", "no"),
        ("eng", "en"),
        ("jp", "ja"),
        ("haw", "haw"),
        ("en-" + "x" * 97, "en"),
    ],
)
def test_the_language_of_a_tag(tag: str, language: str) -> None:
    assert primary_subtag(tag) == language


@pytest.mark.parametrize(
    "tag", ["", "und", "mul", "zxx", "mis", "english", "e", "en us", "en;q=0.5", "-en", "en-" + "x" * 98, "ja" * 60]
)
def test_a_tag_that_names_no_language(tag: str) -> None:
    assert primary_subtag(tag) == ""
