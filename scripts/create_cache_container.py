#!/usr/bin/env python3
"""Creates the Cosmos DB containers of services/store/containers.py, or reports how those in the account differ.

    .venv/bin/python scripts/create_cache_container.py

Reads COSMOS_ENDPOINT, COSMOS_KEY and COSMOS_DATABASE from the environment, else from local.settings.json. With a key
(an emulator) it creates the database and missing containers. Without a key it signs in as you (az login) or a managed
identity: their roles are for data only, so it creates nothing, and infra/bicep must create missing containers. In both
cases it compares partition keys, lifetimes and indexing policies. Exit code 0: all match; 1: some differ, or a setting
is wrong; 2: the account did not answer, or refused the sign-in.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts.dev import need_packages  # noqa: E402

need_packages()

from models.errors import ToolpulseError, Unavailable  # noqa: E402
from scripts.local_host import Refused  # noqa: E402
from scripts.local_host.settings import app_settings  # noqa: E402
from services.ports import utc_now  # noqa: E402
from services.store.containers import CONTAINERS, DEFAULT_TTL, Container  # noqa: E402
from services.store.cosmos import CosmosStore  # noqa: E402

_SYSTEM_PATHS = frozenset({'/"_etag"/?', "/_etag/?"})
"""Cosmos DB adds these to the excluded paths of every policy."""


def differences(container: Container, found: Mapping[str, Any]) -> Iterator[str]:
    """The differences as sentences, without those that Cosmos DB makes by itself."""
    paths = found.get("partitionKey", {}).get("paths")
    if paths != [f"/{container.partition_key}"]:
        yield f"the partition key is {paths}, not /{container.partition_key}: delete the container and create it again"
    ttl = found.get("defaultTtl")
    if ttl != DEFAULT_TTL:
        yield f"the default time to live is {'off' if ttl is None else ttl}, not {DEFAULT_TTL}: nothing would expire"
    wanted_policy, policy = container.indexing_policy(), found.get("indexingPolicy", {})
    if str(policy.get("indexingMode", "")).lower() != wanted_policy["indexingMode"] or not policy.get(
        "automatic", True
    ):
        yield "indexing is not consistent and automatic"
    for name, read in (("includedPaths", _paths), ("excludedPaths", _paths), ("compositeIndexes", _composites)):
        wanted, there = read(wanted_policy.get(name) or []), read(policy.get(name) or [])
        for missing in sorted(wanted - there):
            yield f"{name}: {missing} is missing"
        for extra in sorted(there - wanted):
            yield f"{name}: {extra} is not in the definition"


def _paths(listed: list[dict[str, Any]]) -> set[str]:
    return {each["path"] for each in listed} - _SYSTEM_PATHS


def _composites(listed: list[list[dict[str, Any]]]) -> set[str]:
    return {
        ", ".join(f"{each['path']} {str(each.get('order', 'ascending')).lower()}" for each in composite)
        for composite in listed
    }


async def make_and_compare(store: CosmosStore, *, may_create: bool) -> bool:
    """Returns whether all containers match their definitions."""
    made = await store.ensure_containers()
    as_defined = True
    for container in CONTAINERS.values():
        found = await store.container_properties(container.name)
        if found is None:
            print(f"{container.name}: missing")
            as_defined = False
            continue
        differing = list(differences(container, found))
        as_defined &= not differing
        print(f"{container.name}: {'made' if container.name in made else 'differs' if differing else 'as defined'}")
        for difference in differing:
            print(f"    {difference}")
    if not as_defined:
        print("Deploy infra/bicep, which makes and changes containers." if not may_create else _REMEDY)
    return as_defined


_REMEDY = "Existing containers are not changed: change their policy in the emulator, or delete them first."


async def run(settings: Mapping[str, str]) -> int:
    endpoint, key = settings.get("COSMOS_ENDPOINT", ""), settings.get("COSMOS_KEY", "")
    database = settings.get("COSMOS_DATABASE") or "toolpulse"
    if not endpoint:
        print(
            "COSMOS_ENDPOINT is not set: put the account's address into the environment or into local.settings.json, "
            "such as https://<account>.documents.azure.com or, for an emulator, http://127.0.0.1:8081 with COSMOS_KEY.",
            file=sys.stderr,
        )
        return 1
    print(f"{endpoint}, database {database}, {'with a key' if key else 'with your Azure identity'}")
    if key:
        return await _with(CosmosStore(endpoint, database, utc_now, key=key), may_create=True)
    from azure.identity.aio import DefaultAzureCredential

    async with DefaultAzureCredential() as credential:
        return await _with(CosmosStore(endpoint, database, utc_now, credential=credential), may_create=False)


async def _with(store: CosmosStore, *, may_create: bool) -> int:
    try:
        return 0 if await make_and_compare(store, may_create=may_create) else 1
    finally:
        await store.close()


def main(arguments: list[str]) -> int:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args(
        arguments
    )
    try:
        settings, _ = app_settings(ROOT, {}, os.environ)
        return asyncio.run(run({**settings, **os.environ}))
    except (ToolpulseError, Refused) as error:
        print(error, file=sys.stderr)
        return 2 if isinstance(error, Unavailable) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
