"""Which queues are this machine's own, so that no proxy of the environment stands before them."""

import pytest

from services.queues.storage import is_this_machine


@pytest.mark.parametrize(
    ("connection", "own"),
    [
        ("UseDevelopmentStorage=true", True),
        ("UseDevelopmentStorage=true;DevelopmentStorageProxyUri=http://10.0.0.1", False),
        ("AccountName=a;AccountKey=a2V5;QueueEndpoint=http://127.0.0.1:7071/devstoreaccount1", True),
        ("AccountName=a;AccountKey=a2V5;QueueEndpoint=http://localhost:10001/devstoreaccount1;", True),
        ("DefaultEndpointsProtocol=https;AccountName=a;AccountKey=a2V5;EndpointSuffix=core.windows.net", False),
    ],
)
def test_only_this_machines_queues_are_asked_past_a_proxy(connection: str, own: bool) -> None:
    assert is_this_machine(connection) is own
