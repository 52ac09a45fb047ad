// The Flex Consumption plan: it scales to zero, and each queue and timer function scales alone.
param name string
param location string
param tags object
param zoneRedundant bool

resource plan 'Microsoft.Web/serverfarms@2024-11-01' = {
  // checkov:skip=CKV_AZURE_225:by parameter, on in production; checkov sees the default
  name: name
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    name: 'FC1'
    tier: 'FlexConsumption'
  }
  properties: {
    reserved: true
    zoneRedundant: zoneRedundant
  }
}

output id string = plan.id
