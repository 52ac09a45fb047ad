"""scripts/create_cache_container.py: what it calls a difference, and what it does to a server."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.create_cache_container import differences, make_and_compare, run
from services.ports import utc_now
from services.store.containers import ARTICLES, CONTAINERS, Container
from services.store.cosmos import CosmosStore
from tests.contract import cosmos_server
from tests.contract.cosmos_server import CosmosServer
from tests.contract.identity import Identity


def properties(container: Container) -> dict[str, Any]:
    """What an account answers: the definition in Cosmos DB's own spelling."""
    policy = copy.deepcopy(container.indexing_policy())
    policy["indexingMode"] = "Consistent"
    policy["spatialIndexes"] = []
    policy["fullTextIndexes"] = []
    if not any("_etag" in each["path"] for each in policy["excludedPaths"]):
        policy["excludedPaths"].append({"path": '/"_etag"/?'})
    policy["includedPaths"] = [{**each, "indexes": []} for each in reversed(policy["includedPaths"])]
    policy.setdefault("compositeIndexes", [])
    policy["compositeIndexes"].reverse()
    return {
        "id": container.name,
        "partitionKey": {"paths": [f"/{container.partition_key}"], "kind": "Hash", "version": 2},
        "defaultTtl": -1,
        "indexingPolicy": policy,
        "_etag": "x",
    }


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_what_cosmos_adds_or_spells_its_own_way_is_no_difference(container: Container) -> None:
    assert list(differences(container, properties(container))) == []


def test_every_difference_is_named() -> None:
    found = properties(ARTICLES)
    found["partitionKey"]["paths"] = ["/id"]
    del found["defaultTtl"]
    policy = found["indexingPolicy"]
    policy["indexingMode"] = "None"
    policy["compositeIndexes"][0][0]["order"] = "descending"
    policy["excludedPaths"] = [{"path": "/other/*"}]
    policy["includedPaths"].append({"path": "/canonical/*"})
    said = "\n".join(differences(ARTICLES, found))
    for part in ("partition key", "time to live is off", "not consistent", "excludedPaths: /* is missing"):
        assert part in said
    assert "includedPaths: /canonical/* is not in the definition" in said
    assert said.count("compositeIndexes") == 2


async def test_without_an_address_the_error_names_the_setting(capsys: pytest.CaptureFixture[str]) -> None:
    assert await run({"COSMOS_ENDPOINT": ""}) == 1
    assert "COSMOS_ENDPOINT is not set" in capsys.readouterr().err


if cosmos_server.available():

    @pytest.fixture(scope="module")
    def tls() -> Iterator[CosmosServer]:
        with cosmos_server.running(tls=True) as server:
            yield server

    async def test_with_a_key_all_containers_are_created_once(
        tls: CosmosServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        settings = {"COSMOS_ENDPOINT": tls.endpoint, "COSMOS_KEY": tls.key, "COSMOS_DATABASE": "made"}
        assert await run(settings) == 0
        assert capsys.readouterr().out.count(": made\n") == len(CONTAINERS)
        assert await run(settings) == 0
        assert capsys.readouterr().out.count(": as defined\n") == len(CONTAINERS)

    async def test_with_an_identity_nothing_is_created_and_differences_are_reported(
        tls: CosmosServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        store = CosmosStore(tls.endpoint, "reported", utc_now, credential=Identity())
        assert await make_and_compare(store, may_create=False) is False
        assert capsys.readouterr().out.count(": missing\n") == len(CONTAINERS)
        await run({"COSMOS_ENDPOINT": tls.endpoint, "COSMOS_KEY": tls.key, "COSMOS_DATABASE": "reported"})
        capsys.readouterr()
        assert await make_and_compare(store, may_create=False) is True
        await store.close()

    async def test_a_container_that_was_made_otherwise_is_reported_and_left_alone(
        tls: CosmosServer, capsys: pytest.CaptureFixture[str]
    ) -> None:
        from azure.cosmos import PartitionKey
        from azure.cosmos.aio import CosmosClient

        async with CosmosClient(tls.endpoint, tls.key, enable_endpoint_discovery=False) as client:
            database = await client.create_database("older")
            await database.create_container("articles", PartitionKey(path="/id"))
        settings = {"COSMOS_ENDPOINT": tls.endpoint, "COSMOS_KEY": tls.key, "COSMOS_DATABASE": "older"}
        for _ in range(2):
            assert await run(settings) == 1
            said = capsys.readouterr().out
            assert "articles: differs\n" in said
            assert "the partition key is ['/id'], not /source_id" in said
            assert "compositeIndexes: /status ascending, /timestamp ascending" in said
