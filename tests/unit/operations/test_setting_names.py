"""A name that is no setting is reported with the setting that was meant. Names of the host and Azure are accepted."""

import pytest

from scripts.settings import sample
from services.setting import nearly_settings, unknown
from services.settings import table


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("BATCH_SIZ", "BATCH_SIZE"),
        ("log_level", "LOG_LEVEL"),
        ("ALOW_PRIVATE_ADDRESSES", "ALLOW_PRIVATE_ADDRESSES"),
        ("AZURE_LANGUAGE_ENDPIONT", "AZURE_LANGUAGE_ENDPOINT"),
    ],
)
def test_an_unknown_name_is_a_problem_with_the_nearest_setting(name: str, near: str) -> None:
    assert unknown([name], table()) == [f"{name} is not a setting of this app: did you mean {near}?"]


def test_a_name_like_no_setting_has_no_hint() -> None:
    assert unknown(["FOO"], table()) == ["FOO is not a setting of this app"]


def test_all_unknown_names_are_reported_in_order() -> None:
    assert [text.partition(" ")[0] for text in unknown(["ZZZ", "STORE", "QQQ"], table())] == ["QQQ", "ZZZ"]


@pytest.mark.parametrize(
    "name",
    [
        "AzureWebJobsStorage",
        "AzureWebJobsStorage__blobServiceUri",
        "AzureWebJobs.clean_up.Disabled",
        "AzureFunctionsJobHost__functionTimeout",
        "FUNCTIONS_WORKER_RUNTIME",
        "WEBSITE_TIME_ZONE",
        "FEED_CREDENTIAL_WIRE",
        "SCM_DO_BUILD_DURING_DEPLOYMENT",
        "LANGUAGE_WORKERS_PYTHON_ARGUMENTS",
        "languageWorkers__python__arguments",
        "PYTHON_ENABLE_DEBUG_LOGGING",
        "HTTPS_PROXY",
    ],
)
def test_names_of_the_host_azure_and_python_are_accepted(name: str) -> None:
    assert unknown([name], table()) == []


def test_every_setting_is_accepted() -> None:
    assert unknown([row.name for row in table()], table()) == []
    assert '"FUNCTIONS_WORKER_RUNTIME"' in sample()


def test_a_variable_of_the_machine_is_pointed_out_only_if_it_is_nearly_a_setting() -> None:
    machine = ["HOME", "SHELL", "LS_COLORS", "STORES_OF_MINE", "DATADIR_OF_OTHERS", "LOG_LEVEL", "COSMOS_ENDPIONT"]
    assert nearly_settings(machine, table()) == [
        "the environment variable COSMOS_ENDPIONT is not a setting, but resembles COSMOS_ENDPOINT"
    ]
