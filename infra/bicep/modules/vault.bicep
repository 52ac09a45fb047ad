// Key Vault: the three secrets that app settings refer to. A secret that is empty is not created.
param name string
param location string
param tags object
@secure()
param managementKey string
@secure()
param tiingoToken string
@secure()
param finnhubToken string
param readerPrincipalId string
param operatorPrincipalId string
param operatorPrincipalType string
param purgeProtection bool
param retentionDays int
param workspaceId string

var keyVaultSecretsUser = '4633458b-17de-408a-b874-0445c86b69e6'
var keyVaultSecretsOfficer = 'b86a8fe4-44ce-4948-aee5-eccb2c155cd7'

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  // checkov:skip=CKV_AZURE_109:only identities with a role read it; Flex Consumption has no address of its own to allow without a virtual network
  // checkov:skip=CKV_AZURE_189:as above
  // checkov:skip=CKV_AZURE_110:by parameter, on in production; checkov cannot resolve it
  // checkov:skip=CKV_AZURE_42:as above
  name: name
  location: location
  tags: tags
  properties: {
    tenantId: tenant().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    enableRbacAuthorization: true
    enableSoftDelete: true
    // Azure refuses false: without protection, the property is left out.
    enablePurgeProtection: purgeProtection ? true : null
    softDeleteRetentionInDays: retentionDays
    publicNetworkAccess: 'Enabled'
    networkAcls: {
      bypass: 'AzureServices'
      defaultAction: 'Allow'
    }
  }
}

resource management 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = {
  // checkov:skip=CKV_AZURE_41:an expiry would stop the app on a date that nobody watches; docs/operations.md says how to rotate
  parent: vault
  name: 'MANAGEMENT-KEY'
  properties: {
    value: managementKey
    contentType: 'text/plain'
  }
}

resource tiingo 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (!empty(tiingoToken)) {
  // checkov:skip=CKV_AZURE_41:an expiry would stop the app on a date that nobody watches; docs/operations.md says how to rotate
  // checkov:skip=CKV_AZURE_114:it has one below; checkov does not look into conditional resources
  parent: vault
  name: 'TIINGO-TOKEN'
  properties: {
    value: tiingoToken
    contentType: 'text/plain'
  }
}

resource finnhub 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (!empty(finnhubToken)) {
  // checkov:skip=CKV_AZURE_41:an expiry would stop the app on a date that nobody watches; docs/operations.md says how to rotate
  // checkov:skip=CKV_AZURE_114:as above
  parent: vault
  name: 'FINNHUB-TOKEN'
  properties: {
    value: finnhubToken
    contentType: 'text/plain'
  }
}

resource reader 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(vault.id, readerPrincipalId, keyVaultSecretsUser)
  scope: vault
  properties: {
    principalId: readerPrincipalId
    principalType: 'ServicePrincipal'
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', keyVaultSecretsUser)
  }
}

// The operator rotates the secrets.
resource operator 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (!empty(operatorPrincipalId)) {
  name: guid(vault.id, operatorPrincipalId, keyVaultSecretsOfficer)
  scope: vault
  properties: {
    principalId: operatorPrincipalId
    principalType: empty(operatorPrincipalType) ? null : operatorPrincipalType
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', keyVaultSecretsOfficer)
  }
}

resource audit 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'audit'
  scope: vault
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'AuditEvent'
        enabled: true
      }
    ]
  }
}

output name string = vault.name
output uri string = vault.properties.vaultUri
