"""One host with the sample app for the tests of a module that only talk to it."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.functional.local_host.sample import Sample, running_sample


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def sample(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Sample]:
    settings = {"AzureFunctionsJobHost__logging__logLevel__Function": "Debug"}
    async with running_sample(tmp_path_factory.mktemp("sample"), settings=settings) as sample:
        yield sample
