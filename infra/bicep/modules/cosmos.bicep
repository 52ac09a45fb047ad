// Cosmos DB: the account, the database, and its containers exactly as services/store/containers.py defines them.
param name string
param location string
param tags object
param databaseName string
param autoscaleMaxThroughput int
param dedicatedMaxThroughput object
param requestLogs bool
param backupTier string
param zoneRedundant bool
param contributorPrincipalId string
param operatorPrincipalId string
param workspaceId string

// From services/store/containers.py: `python3 scripts/bicep_data.py` writes it and a test compares it.
var containerDefinitions = loadJsonContent('../containers.json')
var isServerless = autoscaleMaxThroughput == 0
var dataContributor = '00000000-0000-0000-0000-000000000002'
var contributors = concat([contributorPrincipalId], empty(operatorPrincipalId) ? [] : [operatorPrincipalId])

resource account 'Microsoft.DocumentDB/databaseAccounts@2025-04-15' = {
  // checkov:skip=CKV_AZURE_101:no key opens it, only identities with a role; Flex Consumption has no address of its own to allow without a virtual network
  name: name
  location: location
  tags: tags
  kind: 'GlobalDocumentDB'
  properties: {
    databaseAccountOfferType: 'Standard'
    capabilities: isServerless ? [
      {
        name: 'EnableServerless'
      }
    ] : []
    // A recount on one instance must see another's write; in one region that costs no latency.
    consistencyPolicy: {
      defaultConsistencyLevel: 'Strong'
    }
    locations: [
      {
        locationName: location
        failoverPriority: 0
        isZoneRedundant: zoneRedundant
      }
    ]
    enableAutomaticFailover: false
    enableMultipleWriteLocations: false
    disableLocalAuth: true
    disableKeyBasedMetadataWriteAccess: true
    minimalTlsVersion: 'Tls12'
    publicNetworkAccess: 'Enabled'
    backupPolicy: {
      type: 'Continuous'
      continuousModeProperties: {
        tier: backupTier
      }
    }
  }
}

resource database 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases@2025-04-15' = {
  parent: account
  name: databaseName
  tags: tags
  properties: {
    resource: {
      id: databaseName
    }
    options: isServerless ? {} : {
      autoscaleSettings: {
        maxThroughput: autoscaleMaxThroughput
      }
    }
  }
}

resource containers 'Microsoft.DocumentDB/databaseAccounts/sqlDatabases/containers@2025-04-15' = [for container in containerDefinitions: {
  parent: database
  name: container.id
  tags: tags
  properties: {
    resource: {
      id: container.id
      partitionKey: container.partitionKey
      defaultTtl: container.defaultTtl
      indexingPolicy: container.indexingPolicy
    }
    // A container gets a throughput of its own when it is made, or never: it cannot leave the shared one.
    options: isServerless || !contains(dedicatedMaxThroughput, container.id) ? {} : {
      autoscaleSettings: {
        maxThroughput: dedicatedMaxThroughput[container.id]
      }
    }
  }
}]

// On the database only: the built-in role reads and writes items, and can create no container.
resource grants 'Microsoft.DocumentDB/databaseAccounts/sqlRoleAssignments@2025-04-15' = [for principalId in contributors: {
  parent: account
  name: guid(account.id, databaseName, principalId, dataContributor)
  properties: {
    principalId: principalId
    roleDefinitionId: '${account.id}/sqlRoleDefinitions/${dataContributor}'
    scope: '${account.id}/dbs/${database.name}'
  }
}]

// Metrics and changes of the account are always there; a line for each request is a parameter, since it costs.
resource diagnostics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'workspace'
  scope: account
  properties: {
    workspaceId: workspaceId
    logAnalyticsDestinationType: 'Dedicated'
    logs: [
      {
        category: 'ControlPlaneRequests'
        enabled: true
      }
      {
        category: 'DataPlaneRequests'
        enabled: requestLogs
      }
      {
        category: 'PartitionKeyRUConsumption'
        enabled: requestLogs
      }
      {
        category: 'QueryRuntimeStatistics'
        enabled: requestLogs
      }
    ]
    metrics: [
      {
        category: 'Requests'
        enabled: true
      }
    ]
  }
}

output id string = account.id
output endpoint string = account.properties.documentEndpoint
