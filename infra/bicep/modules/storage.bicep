// The host's own storage: deployment packages, timer leases, the queues of the app, and its archive of full texts.
param name string
param location string
param tags object
param zoneRedundant bool
param requestLogs bool
param workspaceId string
param ownerPrincipalId string

// From services/topology.py: `python3 scripts/bicep_data.py` writes it and a test compares it.
var queueNames = loadJsonContent('../topology.json').queues
var archiveContainer = loadJsonContent('../topology.json').archive
var packageContainer = 'app-packages'

// Blob Data Owner and Table Data Contributor are what the Functions host needs for its leases, keys and diagnostics. The
// app reads and writes its archive by the first of them; a role for the container alone would add nothing.
var roles = {
  storageBlobDataOwner: 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
  storageQueueDataContributor: '974c5e8b-45b9-4653-ba55-5f855dd0fb88'
  storageTableDataContributor: '0a9a7e1f-b9d0-4cc4-a60d-0319b160aaa3'
}

resource account 'Microsoft.Storage/storageAccounts@2025-01-01' = {
  // checkov:skip=CKV_AZURE_35:no key opens it, only the app's identity; Flex Consumption has no address of its own to allow without a virtual network
  // checkov:skip=CKV_AZURE_59:as above; public access to blobs is off
  // checkov:skip=CKV_AZURE_206:one region by design: state is in Cosmos DB, packages are built again from a commit
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: zoneRedundant ? 'Standard_ZRS' : 'Standard_LRS'
  }
  properties: {
    accessTier: 'Hot'
    allowBlobPublicAccess: false
    allowCrossTenantReplication: false
    allowSharedKeyAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    publicNetworkAccess: 'Enabled'
    supportsHttpsTrafficOnly: true
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: 'Allow'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-01-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource packages 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: packageContainer
  properties: {
    publicAccess: 'None'
  }
}

// No lifecycle rule: the app deletes what has expired, since what quarantine holds must stay.
resource archive 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-01-01' = {
  parent: blobs
  name: archiveContainer
  properties: {
    publicAccess: 'None'
  }
}

resource queueService 'Microsoft.Storage/storageAccounts/queueServices@2025-01-01' = {
  parent: account
  name: 'default'
}

resource queues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [for queue in queueNames: {
  parent: queueService
  name: queue
}]

resource poisonQueues 'Microsoft.Storage/storageAccounts/queueServices/queues@2025-01-01' = [for queue in queueNames: {
  parent: queueService
  name: '${queue}-poison'
}]

resource grants 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for role in items(roles): {
  name: guid(account.id, ownerPrincipalId, role.value)
  scope: account
  properties: {
    principalId: ownerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', role.value)
  }
}]

// The app deletes what has expired; a deletion that nobody expected must be traceable.
resource requests 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'workspace'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageDelete'
        enabled: true
      }
      {
        category: 'StorageRead'
        enabled: requestLogs
      }
      {
        category: 'StorageWrite'
        enabled: requestLogs
      }
    ]
  }
}

output name string = account.name
output blobEndpoint string = account.properties.primaryEndpoints.blob
// A deployment that changes nothing keeps this time.
output rolesCreatedOn string = grants[0].properties.createdOn
output packageContainerUrl string = '${account.properties.primaryEndpoints.blob}${packages.name}'
