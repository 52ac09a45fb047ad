"""The tree of a YAML document, read without aliases, tags and merge keys: with those a few hundred bytes can stand for
gigabytes, or make values of other types. Apart from yaml_lists.py, since PyYAML need not load at a cold start."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from io import BytesIO
from typing import Any

import yaml

MAX_DEPTH = 10
"""Levels of lists and mappings. PyYAML takes quadratic time for their number."""

_SURROGATE = re.compile("[\ud800-\udfff]")
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,17})(\.[0-9]+)?")
_WORDS = {"": None, "~": None, "null": None, "true": True, "yes": True, "on": True}
_WORDS |= {"false": False, "no": False, "off": False}


def plain_value(text: str) -> Any:
    """The value of a text without quotes. What looks like another number or a time is a text."""
    return json.loads(text) if _NUMBER.fullmatch(text) else _WORDS.get(text.lower(), text)


class _Loader(yaml.BaseLoader):
    """Refuses aliases, anchors and tags, too many levels, and a key that is there twice."""

    def scan_to_next_token(self) -> None:
        super().scan_to_next_token()
        while self.flow_level and self.peek() == "\t":  # JSON may be indented by tabs
            self.forward()
            super().scan_to_next_token()

    def fetch_more_tokens(self) -> None:
        depth = self.flow_level + len(self.indents)
        self.check(depth <= MAX_DEPTH, f"more than {MAX_DEPTH} levels of lists and mappings", self.get_mark())
        super().fetch_more_tokens()

    def fetch_tag(self) -> None:
        self.check(False, "aliases, anchors and tags are not allowed", self.get_mark())

    fetch_anchor = fetch_alias = fetch_tag

    def value(self, node: yaml.Node, plain: Callable[[str], Any]) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return [self.value(each, plain) for each in node.value]
        if isinstance(node, yaml.ScalarNode):
            # JSON escapes a character in two halves.
            text = node.value.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
            self.check(not _SURROGATE.search(text), "an escape that is no character", node.start_mark)
            return text if node.style is not None else plain(text)
        found: dict[str, Any] = {}
        for key, value in node.value:
            name = self.value(key, str)
            self.check(isinstance(name, str), "a key must be text", key.start_mark)
            self.check(name not in found, f"{name[:100]} is there twice", key.start_mark)
            found[name] = self.value(value, plain)
        return found

    def check(self, is_allowed: bool, problem: str, mark: yaml.Mark) -> None:
        if not is_allowed:
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def read_tree(document: bytes, plain: Callable[[str], Any] = plain_value) -> tuple[Any, yaml.Node | None]:
    """The lists, mappings and texts of a document, with `plain` of each text without quotes; and PyYAML's node, which
    has the lines. Raises ValueError, which says what is wrong and where, and quotes no line of the document."""
    try:
        loader = _Loader(BytesIO(document))  # errors would quote lines of bytes, but not of a stream
        root = loader.get_single_node()
        return loader.value(root, plain) if root is not None else None, root
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
    except (ValueError, OverflowError) as error:  # of a number in an escape or a directive
        raise ValueError(f"{error} in line {loader.line + 1}") from None
