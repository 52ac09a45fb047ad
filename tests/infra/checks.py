"""What must hold of infra/ without asking Azure: each check takes the repository's root and lists what is wrong.

The code's own definitions are the truth; a check never repeats them. Types of Azure resources are not known here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from models.errors import WrongSettings
from scripts import bicep_data
from scripts.package import AZURE_PYTHON
from services.settings import Settings, table
from services.telemetry import METRICS
from tests.infra.bicep import Bicep, Declaration, Expression

HOST_SETTINGS = {
    "APPLICATIONINSIGHTS_AUTHENTICATION_STRING",
    "APPLICATIONINSIGHTS_CONNECTION_STRING",
    "APPLICATIONINSIGHTS_OPENTELEMETRY_RESOURCE_METRIC_DISABLED",
    "APPLICATIONINSIGHTS_SDKSTATS_DISABLED",
    "APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL",
    "AZURE_CLIENT_ID",
    "AZURE_TOKEN_CREDENTIALS",
    "AzureFunctionsJobHost__logging__logLevel__Function",
    "AzureFunctionsJobHost__logging__logLevel__default",
}
"""What the Functions host, the telemetry exporter and azure-identity read. Flex Consumption refuses many others."""

EXAMPLES = {
    "blobEndpoint": "https://examplestorage.blob.core.windows.net/",
    "cosmosDatabase": "toolpulse",
    "cosmosEndpoint": "https://example.documents.azure.com:443/",
    "identityClientId": "11111111-1111-1111-1111-111111111111",
    "insights.properties.ConnectionString": "InstrumentationKey=22222222-2222-2222-2222-222222222222",
    "storageName": "examplestorage",
}
KEY_VAULT = re.compile(r"@Microsoft\.KeyVault\(SecretUri=\$\{vaultUri\}secrets/([A-Z-]+)\)")

ROLES = {
    "insights.bicep": {"3913510d-42f4-4e42-8a64-420c390055eb": "Monitoring Metrics Publisher"},
    "storage.bicep": {
        "b7e6dc6d-f1e8-4753-8033-0f276bb0955b": "Storage Blob Data Owner",
        "974c5e8b-45b9-4653-ba55-5f855dd0fb88": "Storage Queue Data Contributor",
        "0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3": "Storage Table Data Contributor",
    },
    "cosmos.bicep": {"00000000-0000-0000-0000-000000000002": "Cosmos DB Built-in Data Contributor"},
    "vault.bicep": {
        "4633458b-17de-408a-b874-0445c86b69e6": "Key Vault Secrets User",
        "b86a8fe4-44ce-4948-aee5-eccb2c155cd7": "Key Vault Secrets Officer",
    },
}
"""All role assignments: those of the app and those of the operator."""

CLOSED: dict[str, dict[str, Any]] = {
    "Microsoft.Web/sites": {
        "identity.type": "UserAssigned",
        "properties.httpsOnly": True,
        "properties.keyVaultReferenceIdentity": "identityId",
        "properties.functionAppConfig.deployment.storage.authentication.type": "UserAssignedIdentity",
        "properties.functionAppConfig.runtime.name": "python",
        "properties.siteConfig.ftpsState": "Disabled",
        "properties.siteConfig.minTlsVersion": "1.2",
    },
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": {"properties.allow": False},
    "Microsoft.Web/serverfarms": {"sku.name": "FC1", "sku.tier": "FlexConsumption", "properties.reserved": True},
    "Microsoft.Storage/storageAccounts": {
        "properties.allowBlobPublicAccess": False,
        "properties.allowSharedKeyAccess": False,
        "properties.minimumTlsVersion": "TLS1_2",
        "properties.supportsHttpsTrafficOnly": True,
    },
    "Microsoft.Storage/storageAccounts/blobServices/containers": {"properties.publicAccess": "None"},
    "Microsoft.DocumentDB/databaseAccounts": {
        "properties.backupPolicy.type": "Continuous",
        "properties.consistencyPolicy.defaultConsistencyLevel": "Strong",
        "properties.disableLocalAuth": True,
        "properties.minimalTlsVersion": "Tls12",
    },
    "Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers": {
        "name": "container.id",
        "properties.resource.id": "container.id",
        "properties.resource.partitionKey": "container.partitionKey",
        "properties.resource.defaultTtl": "container.defaultTtl",
        "properties.resource.indexingPolicy": "container.indexingPolicy",
    },
    "Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments": {
        "properties.scope": "${account.id}/dbs/${database.name}",
    },
    "Microsoft.KeyVault/vaults": {
        "properties.enablePurgeProtection": "purgeProtection ? true : null",
        "properties.enableRbacAuthorization": True,
    },
    "Microsoft.Insights/components": {"properties.DisableLocalAuth": True},
    "Microsoft.OperationalInsights/workspaces": {"properties.features.disableLocalAuth": True},
}
"""What is shut, and what is tied to the code, by resource type: no account key, password or old TLS gets anybody in."""


def bicep_files(root: Path) -> dict[str, Bicep]:
    return {path.name: Bicep(path) for path in sorted((root / "infra" / "bicep").rglob("*.bicep"))}


def syntax(root: Path) -> Iterator[str]:
    for file in bicep_files(root).values():
        yield from file.syntax_errors()


def names(root: Path) -> Iterator[str]:
    """Every name is declared once and used, every module gets what it takes, every output that is read is there."""
    for file in bicep_files(root).values():
        declared = [each.name for each in file.declarations if each.kind != "output"]
        for name in file.used_names() - set(declared) - file.loop_names():
            yield f"{file.path.name}: {name} is not declared"
        for name in {name for name in declared if declared.count(name) > 1}:
            yield f"{file.path.name}: {name} is declared twice"
        for each in file.declarations:
            if each.kind in ("parameter", "variable") and each.name not in file.used_names():
                yield f"{file.path.name}: {each.name} is not used"
        yield from _modules(file)


def _modules(file: Bicep) -> Iterator[str]:
    modules = {name: (each, Bicep(file.path.parent / each.about)) for name, each in file.all("module").items()}
    for name, (module, target) in modules.items():
        taken = target.all("parameter")
        given = set(module.body.get("params", {}))
        yield from (f"{name}: takes no {each}" for each in given - set(taken))
        yield from (f"{name}: {each} is missing" for each in _required(taken) - given)
    for name, output in file.outputs_read():
        if name in modules and output not in modules[name][1].all("output"):
            yield f"{name}: has no output {output}"


def _required(parameters: dict[str, Declaration]) -> set[str]:
    return {name for name, each in parameters.items() if each.body is None}


def parameter_files(root: Path) -> Iterator[str]:
    """Each names parameters that exist, of the right type; none has a secret in it, and only secrets are left out."""
    taken = bicep_files(root)["main.bicep"].all("parameter")
    types: dict[str, type] = {"string": str, "int": int, "bool": bool, "object": dict, "array": list}
    files = sorted((root / "infra" / "bicep").glob("main*.parameters.json"))
    if len(files) < 3:
        yield "parameters for dev, prod and azd are not all there"
    for file in files:
        given = {name: each["value"] for name, each in json.loads(file.read_text())["parameters"].items()}
        for name in given.keys() - taken.keys():
            yield f"{file.name}: there is no parameter {name}"
        for name in _required(taken) - given.keys():
            if not taken[name].secure:
                yield f"{file.name}: {name} is missing"
        for name, value in ((name, value) for name, value in given.items() if name in taken):
            if type(value) is not types[taken[name].about]:
                yield f"{file.name}: {name} is a {taken[name].about}"
            if taken[name].secure and not str(value).startswith("${"):
                yield f"{file.name}: {name} is a secret"
        if not given.get("location", "${").startswith("${") and given["location"] not in regions(root):
            yield f"{file.name}: Flex Consumption is not offered in {given['location']}"


def regions(root: Path) -> list[str]:
    text = (root / "infra" / "bicep" / "main.bicep").read_text()
    return re.findall(r"'(\w+)'", text.partition("param location")[0].rpartition("@allowed(")[2])


def generated(root: Path) -> Iterator[str]:
    """Containers, queues and timers in Bicep are those of the code, and Bicep makes a resource of each."""
    for name, text in bicep_data.files().items():
        if (root / "infra" / "bicep" / name).read_text() != text:
            yield f"{name} differs from the code: run python3 scripts/bicep_data.py"
    files = bicep_files(root)
    loaded = {path.name for file in files.values() for path in file.loaded_files()}
    yield from (f"{name} is not loaded" for name in bicep_data.files() if name not in loaded)
    containers = [each.body["name"] for each in files["storage.bicep"].resources(_BLOB_CONTAINER)]
    archive = files["storage.bicep"].all("variable")["archiveContainer"].body
    if "archiveContainer" not in containers or archive != "loadJsonContent('../topology.json').archive":
        yield f"storage.bicep makes the containers {containers}, not that of the archive"
    queues = [each.body["name"] for each in files["storage.bicep"].resources(_QUEUE)]
    if sorted(queues) != ["${queue}-poison", "queue"]:
        yield f"storage.bicep makes the queues {queues}, not each one and its poison queue"


_BLOB_CONTAINER = "Microsoft.Storage/storageAccounts/blobServices/containers"
_QUEUE = "Microsoft.Storage/storageAccounts/queueServices/queues"


def app_settings(root: Path) -> dict[str, str]:
    """What the app finds in its environment, with every optional secret set, references unresolved."""
    variables = bicep_files(root)["function_app.bicep"].all("variable")
    found: dict[str, str] = {}
    for name, each in variables.items():
        if name.endswith(("Settings", "Setting")) and isinstance(each.body, dict):
            found |= each.body
    return found


def settings(root: Path) -> Iterator[str]:
    """Every setting is known, no secret is plain text, and what the app would read on Azure is accepted."""
    known = {row.name: row for row in table()}
    vault = bicep_files(root)["vault.bicep"].resources("Microsoft.KeyVault/vaults/secrets")
    kept = {each.body["name"] for each in vault}
    environment = {"WEBSITE_SITE_NAME": "func-toolpulse", "WEBSITE_INSTANCE_ID": "1"}
    for name, value in app_settings(root).items():
        if name not in known and name not in HOST_SETTINGS:
            yield f"{name} is no setting of ours or of the host"
        reference = KEY_VAULT.fullmatch(value)
        if name in known and known[name].secret and not reference:
            yield f"{name} is secret, but no reference to Key Vault"
        if reference and (reference[1] not in kept or reference[1].replace("-", "_") != name):
            yield f"{name} refers to {reference[1]}, which is not its secret in the vault"
        environment[name] = "resolved" * 4 if reference else _resolved(value)
    try:
        read = Settings.from_environment(environment)
    except WrongSettings as error:
        yield f"the app would not start: {error}"
        return
    if not (read.archive == "blob" and read.archive_endpoint == EXAMPLES["blobEndpoint"]):
        yield "the app would start without its archive"
    if not (read.store == "cosmos" and read.management_key and read.storage_account_name and read.on_azure):
        yield "the app would start without its database, its storage or a management key"
    yield from (f"{name} is missing" for name in HOST_SETTINGS - environment.keys())


def _resolved(value: str) -> str:
    if isinstance(value, Expression):
        return EXAMPLES[value]
    return re.sub(r"\$\{([^}]+)\}", lambda found: EXAMPLES[found[1]], value)


def access(root: Path) -> Iterator[str]:
    """There are no other role assignments, and keys and public access are off."""
    guid = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
    files = bicep_files(root)
    for name, file in files.items():
        granted = set(guid.findall(file.path.read_text()))
        if granted != set(ROLES.get(name, {})):
            yield f"{name}: grants {sorted(granted)}"
    for resource_type, wanted in CLOSED.items():
        found = [each for file in files.values() for each in file.resources(resource_type)]
        found = [each for each in found if " existing " not in each.text.split("{")[0]]
        if not found:
            yield f"there is no {resource_type}"
        for each in found:
            for path, value in wanted.items():
                if (is_ := _at(each.body, path)) != value:
                    yield f"{each.name}: {path} is {is_!r}, not {value!r}"


def _at(body: Any, path: str) -> Any:
    for part in path.split("."):
        body = body.get(part) if isinstance(body, dict) else None
    return body


def production(root: Path) -> Iterator[str]:
    """What production must not turn off, and what it must be given."""
    defaults = {name: each.body for name, each in bicep_files(root)["main.bicep"].all("parameter").items()}
    prod = json.loads((root / "infra" / "bicep" / "main.prod.parameters.json").read_text())["parameters"]
    values = {**defaults, **{name: each["value"] for name, each in prod.items()}}
    wanted = {"vaultPurgeProtection": True, "vaultRetentionDays": 90, "instanceMemoryMB": 2048, "zoneRedundant": True,
              "appZoneRedundant": False, "logAlertMinutes": 5, "availabilityTestMinutes": 5}  # fmt: skip
    for name, value in wanted.items():
        if values.get(name) != value:
            yield f"production has {name} {values.get(name)!r}, not {value!r}"


def workbook(root: Path) -> Iterator[str]:
    """The workbook reads metrics and log events that the app has."""
    items = json.loads((root / "infra" / "bicep" / "workbook.json").read_text())["items"]
    queries = [each["content"]["query"] for each in items if each["type"] == _QUERY]
    if len(queries) < 10:
        yield "the workbook has hardly a query"
    metrics = {metric.name for metric in METRICS}
    source = "\n".join(path.read_text() for path in (root / "services").rglob("*.py"))
    for query in queries:
        for name in re.findall(r'name == "([^"]+)"', query):
            if name not in metrics:
                yield f"the workbook reads the metric {name}, which the app has not"
        for event in re.findall(r"line\.event\) == '(\w+)'", query):
            if f'"{event}"' not in source:
                yield f"the workbook reads the event {event}, which the app does not log"


_QUERY = 3


def outputs(root: Path) -> Iterator[str]:
    """No output carries a secret: deployments keep outputs, and whoever may read deployments sees them."""
    for file in bicep_files(root).values():
        secrets = {name for name, each in file.all("parameter").items() if each.secure}
        for output in file.all("output").values():
            value = str(output.body)
            if re.search(r"\blist\w*\(|key\b|secret|connectionstring|token\b", value, re.IGNORECASE) or any(
                re.search(rf"\b{name}\b", value) for name in secrets
            ):
                yield f"{file.path.name}: output {output.name} may carry a secret: {value}"


def runtime(root: Path) -> Iterator[str]:
    """Azure runs the Python that packages are built for, and host.json is one that alerts can rely on."""
    app = bicep_files(root)["function_app.bicep"]
    if (version := app.all("variable")["pythonVersion"].body) != AZURE_PYTHON:
        yield f"Azure would run Python {version}; packages are built for {AZURE_PYTHON}"
    sites = app.resources("Microsoft.Web/sites")
    if not sites or _at(sites[0].body, "properties.functionAppConfig.runtime.version") != "pythonVersion":
        yield "the app does not run pythonVersion"
    host = json.loads((root / "host.json").read_text())
    sampling = host["logging"]["applicationInsights"]["samplingSettings"]
    excluded = sampling.get("excludedTypes", "").split(";")
    if sampling["isEnabled"] and not {"Request", "Trace"} <= set(excluded):
        yield "host.json: sampling would thin out the requests and traces that alerts count"


def health_url(root: Path, health_route: str) -> Iterator[str]:
    """The availability test asks the route that health has."""
    prefix = json.loads((root / "host.json").read_text())["extensions"]["http"]["routePrefix"]
    path = bicep_files(root)["alerts.bicep"].all("variable")["healthPath"].body
    if path != f"/{prefix}/{health_route}":
        yield f"the availability test asks {path}; health is at /{prefix}/{health_route}"


CHECKS = (syntax, names, parameter_files, generated, settings, access, production, workbook, outputs, runtime)
