// All resources of toolpulse, in one resource group. Deployed by `azd up` or `az deployment sub create`.
// docs/operations.md says how; docs/adr/0009-infrastructure.md says why.
targetScope = 'subscription'

@description('Short name of this environment, such as dev or prod: part of every name.')
@minLength(1)
@maxLength(20)
param environmentName string

// Where Flex Consumption is offered. `az functionapp list-flexconsumption-locations` has today's list, and with
// `--zone-redundant` those that allow appZoneRedundant.
@description('The region of all resources.')
@allowed([
  'australiaeast'
  'australiasoutheast'
  'brazilsouth'
  'canadacentral'
  'centralindia'
  'centralus'
  'eastasia'
  'eastus'
  'eastus2'
  'francecentral'
  'germanywestcentral'
  'italynorth'
  'japaneast'
  'koreacentral'
  'northcentralus'
  'northeurope'
  'norwayeast'
  'southafricanorth'
  'southcentralus'
  'southeastasia'
  'southindia'
  'spaincentral'
  'swedencentral'
  'uaenorth'
  'uksouth'
  'ukwest'
  'westcentralus'
  'westeurope'
  'westus'
  'westus2'
  'westus3'
])
param location string

@description('The value of X-Management-Key, which management requests need besides a function key. Kept in Key Vault.')
@minLength(32)
@secure()
param managementKey string

@description('Token of Tiingo. Empty: Tiingo is not polled.')
@secure()
param tiingoToken string = ''

@description('Token of Finnhub. Empty: Finnhub is not polled.')
@secure()
param finnhubToken string = ''

@description('Further app settings by name, such as FETCH_USER_AGENT. No secrets: those belong into Key Vault.')
param appSettings object = {}

@description('E-mail address for alerts. Empty: they appear in the portal only.')
param alertEmail string = ''

@description('Minutes between two evaluations of each log alert. The price falls with them. 0: no log alerts.')
@allowed([
  0
  5
  15
])
param logAlertMinutes int = 15

@description('Minutes between two requests for health from each of three places. 0: no availability test, and no alert on it.')
@allowed([
  0
  5
  15
])
param availabilityTestMinutes int = 0

@description('Object id of the person or group that runs migrations and reads data. Empty: no one.')
param operatorPrincipalId string = ''

@description('What the operator is. Empty: Azure looks it up.')
@allowed([
  ''
  'Group'
  'ServicePrincipal'
  'User'
])
param operatorPrincipalType string = ''

@description('Name of an account that was restored from a backup. Empty: the account of this environment.')
@maxLength(44)
param cosmosAccountName string = ''

@description('0: serverless. Else the maximum of request units per second that all containers share. Cannot become 0 or stop being 0 later.')
@allowed([
  0
  1000
  2000
  3000
  4000
  5000
  6000
  8000
  10000
  20000
  40000
  60000
  100000
  200000
  400000
  1000000
])
param cosmosAutoscaleMaxThroughput int = 0

@description('Request units per second of containers with a throughput of their own, such as { articles: 4000 }. Not with serverless.')
param cosmosDedicatedMaxThroughput object = {}

@description('Whether each request to the database is logged in the workspace. Costs about as much as the requests.')
param cosmosRequestLogs bool = false

@description('Whether each request to blobs is logged in the workspace. Deletions always are.')
param storageRequestLogs bool = false

@description('How far back the database can be restored. Seven days are free.')
@allowed([
  'Continuous7Days'
  'Continuous30Days'
])
param cosmosBackupTier string = 'Continuous7Days'

@description('Whether Cosmos DB and storage are spread over the zones of the region.')
param zoneRedundant bool = false

@description('Whether the app is too. Azure then keeps two instances of each function group running, which costs more than all else.')
param appZoneRedundant bool = false

@description('Most instances of all functions together.')
@minValue(40)
@maxValue(1000)
param maximumInstanceCount int = 40

@allowed([
  512
  2048
  4096
])
param instanceMemoryMB int = 512

@description('How a publish replaces the instances: in batches, while the others work on, or all at once.')
@allowed([
  'Recreate'
  'RollingUpdate'
])
param siteUpdateStrategy string = 'RollingUpdate'

@description('Concurrent HTTP requests of one instance.')
@minValue(1)
@maxValue(1000)
param httpPerInstanceConcurrency int = 32

@description('Instances kept warm, as { name: http or function:<name>, instanceCount: n }. They cost even when idle.')
param alwaysReady array = []

@description('Part of the name of the vault. A deleted vault keeps its name: choose another to deploy again without a purge.')
@maxLength(6)
param vaultSuffix string = ''

@description('Whether nobody can purge the vault before its time. Cannot be turned off later, and stops azd down --purge.')
param vaultPurgeProtection bool = true

@description('Days that a deleted vault or secret can be recovered. Cannot be changed later.')
@minValue(7)
@maxValue(90)
param vaultRetentionDays int = 90

@description('Days that logs are kept.')
@minValue(30)
@maxValue(730)
param logRetentionDays int = 30

@description('Gigabytes of logs a day after which the rest is dropped. -1: no limit.')
@minValue(-1)
param logDailyQuotaGb int = -1

var token = toLower(uniqueString(subscription().id, environmentName, location))
var tags = {
  app: 'toolpulse'
  'azd-env-name': environmentName
}
var databaseName = 'toolpulse'

resource group 'Microsoft.Resources/resourceGroups@2025-04-01' = {
  name: 'rg-toolpulse-${environmentName}'
  location: location
  tags: tags
}

module identity 'modules/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-toolpulse-${token}'
    location: location
    tags: tags
  }
}

module workspace 'modules/workspace.bicep' = {
  name: 'workspace'
  scope: group
  params: {
    name: 'log-toolpulse-${token}'
    location: location
    tags: tags
    retentionDays: logRetentionDays
    dailyQuotaGb: logDailyQuotaGb
  }
}

module insights 'modules/insights.bicep' = {
  name: 'insights'
  scope: group
  params: {
    name: 'appi-toolpulse-${token}'
    location: location
    tags: tags
    workspaceId: workspace.outputs.id
    publisherPrincipalId: identity.outputs.principalId
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'st${token}'
    location: location
    tags: tags
    zoneRedundant: zoneRedundant
    requestLogs: storageRequestLogs
    workspaceId: workspace.outputs.id
    ownerPrincipalId: identity.outputs.principalId
  }
}

module cosmos 'modules/cosmos.bicep' = {
  name: 'cosmos'
  scope: group
  params: {
    name: empty(cosmosAccountName) ? 'cosmos-toolpulse-${token}' : cosmosAccountName
    location: location
    tags: tags
    databaseName: databaseName
    autoscaleMaxThroughput: cosmosAutoscaleMaxThroughput
    dedicatedMaxThroughput: cosmosDedicatedMaxThroughput
    requestLogs: cosmosRequestLogs
    backupTier: cosmosBackupTier
    zoneRedundant: zoneRedundant
    contributorPrincipalId: identity.outputs.principalId
    operatorPrincipalId: operatorPrincipalId
    workspaceId: workspace.outputs.id
  }
}

module vault 'modules/vault.bicep' = {
  name: 'vault'
  scope: group
  params: {
    name: 'kv-${token}${vaultSuffix}'
    location: location
    tags: tags
    managementKey: managementKey
    tiingoToken: tiingoToken
    finnhubToken: finnhubToken
    readerPrincipalId: identity.outputs.principalId
    operatorPrincipalId: operatorPrincipalId
    operatorPrincipalType: operatorPrincipalType
    purgeProtection: vaultPurgeProtection
    retentionDays: vaultRetentionDays
    workspaceId: workspace.outputs.id
  }
}

module plan 'modules/plan.bicep' = {
  name: 'plan'
  scope: group
  params: {
    name: 'plan-toolpulse-${token}'
    location: location
    tags: tags
    zoneRedundant: appZoneRedundant
  }
}

module functionApp 'modules/function_app.bicep' = {
  name: 'function-app'
  scope: group
  params: {
    name: 'func-toolpulse-${token}'
    location: location
    tags: union(tags, { 'azd-service-name': 'toolpulse' })
    planId: plan.outputs.id
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    insightsName: insights.outputs.name
    storageName: storage.outputs.name
    blobEndpoint: storage.outputs.blobEndpoint
    packageContainerUrl: storage.outputs.packageContainerUrl
    cosmosEndpoint: cosmos.outputs.endpoint
    cosmosDatabase: databaseName
    vaultUri: vault.outputs.uri
    hasTiingoToken: !empty(tiingoToken)
    hasFinnhubToken: !empty(finnhubToken)
    appSettings: appSettings
    maximumInstanceCount: maximumInstanceCount
    instanceMemoryMB: instanceMemoryMB
    siteUpdateStrategy: siteUpdateStrategy
    httpPerInstanceConcurrency: httpPerInstanceConcurrency
    alwaysReady: alwaysReady
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    location: location
    tags: tags
    email: alertEmail
    logAlertMinutes: logAlertMinutes
    availabilityTestMinutes: availabilityTestMinutes
    appName: functionApp.outputs.name
    appUrl: functionApp.outputs.url
    insightsId: insights.outputs.id
    cosmosId: cosmos.outputs.id
  }
}

module workbook 'modules/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    location: location
    tags: tags
    insightsId: insights.outputs.id
  }
}

output AZURE_RESOURCE_GROUP string = group.name
output AZURE_KEY_VAULT_NAME string = vault.outputs.name
output COSMOS_ENDPOINT string = cosmos.outputs.endpoint
output COSMOS_DATABASE string = databaseName
output STORAGE_ROLES_CREATED_ON string = storage.outputs.rolesCreatedOn
output FUNCTION_APP_NAME string = functionApp.outputs.name
output FUNCTION_APP_URL string = functionApp.outputs.url
