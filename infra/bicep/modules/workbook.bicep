// The workbook: freshness, backlog, cache, request units and throttles, errors and queues on one page.
param location string
param tags object
param insightsId string

var content = loadJsonContent('../workbook.json')

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(insightsId, 'toolpulse')
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'toolpulse'
    category: 'workbook'
    sourceId: insightsId
    serializedData: string(content)
  }
}
