// The Function App. It reaches storage, database, vault and telemetry as its user-assigned identity.
param name string
param location string
param tags object
param planId string
param identityId string
param identityClientId string
param insightsName string
param storageName string
param blobEndpoint string
param packageContainerUrl string
param cosmosEndpoint string
param cosmosDatabase string
param vaultUri string
param hasTiingoToken bool
param hasFinnhubToken bool
param appSettings object
param maximumInstanceCount int
param instanceMemoryMB int
param siteUpdateStrategy string
param httpPerInstanceConcurrency int
param alwaysReady array

var pythonVersion = '3.13'

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

// Two or three lines of the host for each execution cost more than what the app says. host.json lets through what timers
// and queue functions say, and the request of each execution; of HTTP functions, warnings.
var logSettings = {
  AzureFunctionsJobHost__logging__logLevel__default: 'Warning'
  AzureFunctionsJobHost__logging__logLevel__Function: 'Warning'
}

var hostSettings = {
  APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${identityClientId};Authorization=AAD'
  APPLICATIONINSIGHTS_CONNECTION_STRING: insights.properties.ConnectionString
  // Of the exporter: nothing about itself, neither to Microsoft nor into our workspace.
  APPLICATIONINSIGHTS_OPENTELEMETRY_RESOURCE_METRIC_DISABLED: 'true'
  APPLICATIONINSIGHTS_SDKSTATS_DISABLED: 'true'
  APPLICATIONINSIGHTS_STATSBEAT_DISABLED_ALL: 'true'
  AZURE_CLIENT_ID: identityClientId
  // Of azure-identity: no other sign-in is tried first.
  AZURE_TOKEN_CREDENTIALS: 'ManagedIdentityCredential'
  AzureWebJobsStorage__accountName: storageName
  AzureWebJobsStorage__clientId: identityClientId
  AzureWebJobsStorage__credential: 'managedidentity'
}

var toolpulseSettings = {
  ARCHIVE: 'blob'
  ARCHIVE_ENDPOINT: blobEndpoint
  COSMOS_DATABASE: cosmosDatabase
  COSMOS_ENDPOINT: cosmosEndpoint
  STORE: 'cosmos'
}

// Without a version, so that a new version of a secret is read within a day, or at a restart.
var managementSetting = {
  MANAGEMENT_KEY: '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/MANAGEMENT-KEY)'
}
var tiingoSetting = {
  TIINGO_TOKEN: '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/TIINGO-TOKEN)'
}
var finnhubSetting = {
  FINNHUB_TOKEN: '@Microsoft.KeyVault(SecretUri=${vaultUri}secrets/FINNHUB-TOKEN)'
}
var secretSettings = union(managementSetting, hasTiingoToken ? tiingoSetting : {}, hasFinnhubToken ? finnhubSetting : {})

resource app 'Microsoft.Web/sites@2024-11-01' = {
  // checkov:skip=CKV_AZURE_222:an HTTP API for callers outside; function keys and the management key guard it
  // checkov:skip=CKV_AZURE_17:callers show a key, not a certificate
  // checkov:skip=CKV_AZURE_212:Flex Consumption scales by itself, from zero; alwaysReady is the parameter for warm instances
  // checkov:skip=CKV_AZURE_213:Flex Consumption has no such setting; the availability test in alerts.bicep asks health
  name: name
  location: location
  tags: tags
  kind: 'functionapp,linux'
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  properties: {
    serverFarmId: planId
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    publicNetworkAccess: 'Enabled'
    functionAppConfig: {
      deployment: {
        storage: {
          type: 'blobContainer'
          value: packageContainerUrl
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
      // Azure reads it from this version on, and documents it; the version's schema does not have it.
      #disable-next-line BCP037
      siteUpdateStrategy: {
        type: siteUpdateStrategy
      }
      runtime: {
        name: 'python'
        version: pythonVersion
      }
      scaleAndConcurrency: {
        maximumInstanceCount: maximumInstanceCount
        instanceMemoryMB: instanceMemoryMB
        alwaysReady: alwaysReady
        triggers: {
          http: {
            perInstanceConcurrency: httpPerInstanceConcurrency
          }
        }
      }
    }
    siteConfig: {
      ftpsState: 'Disabled'
      http20Enabled: true
      minTlsVersion: '1.2'
      scmMinTlsVersion: '1.2'
    }
  }
}

resource settings 'Microsoft.Web/sites/config@2024-11-01' = {
  // checkov:skip=CKV_AZURE_13:no site, only its app settings: checkov takes it for one
  // checkov:skip=CKV_AZURE_63:as above
  // checkov:skip=CKV_AZURE_65:as above
  // checkov:skip=CKV_AZURE_66:as above
  // checkov:skip=CKV_AZURE_80:as above
  // checkov:skip=CKV_AZURE_88:as above
  // checkov:skip=CKV_AZURE_222:as above
  parent: app
  name: 'appsettings'
  properties: union(logSettings, appSettings, hostSettings, toolpulseSettings, secretSettings)
}

// Publishing takes an Entra identity: no publish profile with a password works.
resource ftpPublishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource scmPublishing 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2024-11-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

output name string = app.name
output url string = 'https://${app.properties.defaultHostName}'
