"""Compares resources in Bicep with Microsoft's own type schemas: type, version, names, values, and what is required.

The schemas come from `azmcp bicepschema get`, which has them built in and needs no network. It serves one version of
each type, the newest that is not a preview, and cannot show a few types: of these it confirms the version only.
What is not a literal in Bicep is not compared.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.infra.bicep import Bicep, Declaration, Expression

# In every resource: what Bicep itself knows, and what the schema has as read-only.
_OF_BICEP = {"parent", "scope", "dependsOn"}
_VERSION = re.compile(r"with apiVersion ([\w-]+) not supported")

WITHOUT_SCHEMA = {
    "Microsoft.Insights/actionGroups@2023-01-01",
    "Microsoft.Insights/metricAlerts@2018-03-01",
    "Microsoft.Insights/scheduledQueryRules@2023-12-01",
}
"""The types that the tool knows and cannot show."""

PREVIEWS = {
    "Microsoft.Insights/diagnosticSettings@2021-05-01-preview": "the version before, of 2016, has no log categories",
}
"""Versions that the tool does not have, with the reason for each."""

ADDITIONS: Mapping[tuple[str, str], list[dict[str, str]]] = {
    ("Microsoft.Web/sites", "FunctionAppConfig"): [
        {"name": "siteUpdateStrategy", "type": "SiteUpdateStrategy"},
    ],
    ("Microsoft.Web/sites", "SiteUpdateStrategy"): [{"name": "type", "type": "Recreate | RollingUpdate"}],
}
"""What Azure documents for this version and the schema lacks, by type and object."""


@dataclass(frozen=True)
class Schema:
    """`definitions` is None if the tool knows the version and cannot show the schema."""

    version: str
    definitions: dict[str, dict[str, Any]] | None
    body: str = ""


Source = Callable[[str], Schema | None]
"""The schema of a resource type, or None for an unknown type."""


def from_azmcp(program: str) -> Source:
    known: dict[str, Schema | None] = {}

    def schema(resource_type: str) -> Schema | None:
        if resource_type not in known:
            command = [program, "bicepschema", "get", "--resource-type", resource_type]
            environment = {**os.environ, "AZURE_MCP_COLLECT_TELEMETRY": "false"}
            done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
            known[resource_type] = read(resource_type, json.loads(done.stdout[done.stdout.index("{\n") :]))
        return known[resource_type]

    return schema


def read(resource_type: str, answer: dict[str, Any]) -> Schema | None:
    """The answer of the tool."""
    if answer["status"] != 200:
        found = _VERSION.search(answer["message"])
        return Schema(found[1], None) if found else None
    results = answer["results"]["BicepSchemaResult"]
    (resource,) = (each for each in results if each["$type"] == "Resource")
    definitions = {each["name"]: each for each in results if each["$type"] != "Resource"}
    definitions[""] = resource["bodyType"]
    for (of, name), properties in ADDITIONS.items():
        if of.lower() == resource_type.lower():
            there = definitions.setdefault(name, {"$type": "Object", "properties": [], "name": name})
            there["properties"] = [*there["properties"], *properties]
    return Schema(resource["name"].partition("@")[2], definitions)


def problems(file: Bicep, schemas: Source) -> Iterator[str]:
    for each in file.all("resource").values():
        for problem in _resource(each, schemas):
            yield f"{file.path.name}: {each.name}: {problem}"


def _resource(resource: Declaration, schemas: Source) -> Iterator[str]:
    resource_type, _, version = resource.about.partition("@")
    schema = schemas(resource_type)
    if schema is None:
        yield f"there is no type {resource_type}"
        return
    if version != schema.version:
        if resource.about not in PREVIEWS:
            yield f"version {version}, but the schema is of {schema.version}"
        return
    if schema.definitions is None:
        if resource.about not in WITHOUT_SCHEMA:
            yield "the schema cannot be shown"
        return
    is_existing = " existing " in resource.text.split("{")[0]
    body = {name: value for name, value in resource.body.items() if name not in _OF_BICEP}
    yield from _Comparison(schema.definitions, is_existing).compare(body, "", "")


class _Comparison:
    def __init__(self, definitions: Mapping[str, dict[str, Any]], is_existing: bool) -> None:
        self._definitions = definitions
        self._is_existing = is_existing

    def compare(self, value: Any, type_: str, path: str) -> Iterator[str]:
        if isinstance(value, Expression):
            return
        if type_ in self._definitions:
            yield from self._object(value, self._definitions[type_], path)
        elif type_.endswith("[]"):
            if not isinstance(value, list):
                yield f"{path} must be a list"
                return
            for number, each in enumerate(value):
                yield from self.compare(each, type_[:-2], f"{path}[{number}]")
        else:
            yield from self._scalar(value, type_, path)

    def _scalar(self, value: Any, type_: str, path: str) -> Iterator[str]:
        basic = {"string": str, "int": int, "bool": bool}
        if type_ == "any" or (isinstance(value, str) and "${" in value):
            return
        if type_ in basic:
            if type(value) is not basic[type_]:
                yield f"{path} must be a {type_}"
            return
        choices = [each for each in type_.split(" | ") if each not in basic]
        if value not in choices and str(value) not in choices:
            yield f"{path} is {value!r}, not one of {', '.join(choices)}"

    def _object(self, value: Any, definition: Mapping[str, Any], path: str) -> Iterator[str]:
        if not isinstance(value, dict):
            yield f"{path} must be an object"
            return
        properties = {each["name"]: each for each in self._properties(value, definition)}
        for name, each in value.items():
            full = f"{path}.{name}" if path else name
            known = properties.get(name)
            if known is None:
                if "additionalPropertiesType" not in definition:
                    yield f"{full} is not in the schema"
            elif "ReadOnly" in known.get("flags", ""):
                yield f"{full} is read-only"
            else:
                yield from self.compare(each, known["type"], full)
        for name, known in properties.items():
            if "Required" in known.get("flags", "") and name not in value and not self._is_existing:
                yield f"{path}.{name} is missing".lstrip(".")

    def _properties(self, value: Mapping[str, Any], definition: Mapping[str, Any]) -> list[dict[str, Any]]:
        if definition["$type"] != "DiscriminatedObject":
            return list(definition["properties"])
        key = definition["discriminator"]
        for element in definition["elements"]:
            chosen = next(each for each in element["properties"] if each["name"] == key)
            if value.get(key) == chosen["type"]:
                return [*definition["baseProperties"], *element["properties"]]
        choices = [each["type"] for one in definition["elements"] for each in one["properties"] if each["name"] == key]
        return [{"name": key, "type": " | ".join(choices), "flags": "Required"}]
