// The alerts. docs/operations.md explains each: what it means and what to do.
param location string
param tags object
param email string
param logAlertMinutes int
param availabilityTestMinutes int
param appName string
param appUrl string
param insightsId string
param cosmosId string

// From services/topology.py: `python3 scripts/bicep_data.py` writes it and a test compares it.
var timers = loadJsonContent('../topology.json').timers
var healthPath = '/api/v1/health'
var actionGroups = empty(email) ? [] : [actionGroup.id]
var metricActions = empty(email) ? [] : [{ actionGroupId: actionGroup.id }]

// clean_up logs queue_depth for each queue every five minutes (services/operations/upkeep.py), so that missing lines are a sign
// too. Storage's own message count is a daily metric, and does not separate poison queues.
var queueDepths = '''
traces
| where timestamp > ago(15m) and message has 'queue_depth'
| extend line = parse_json(message)
| where tostring(line.event) == 'queue_depth'
| project timestamp, queue = tostring(line.queue), poison = toint(line.poison)
'''

// The same run logs refresh_age, in seconds, once a first refresh has ended.
var refreshAges = '''
traces
| where timestamp > ago(15m) and message has 'refresh_age'
| extend line = parse_json(message)
| where tostring(line.event) == 'refresh_age'
| project timestamp, seconds = toint(line.seconds)
'''

// And backlog: the articles whose analysis is due or was given up. Figures lack both.
var backlogs = '''
traces
| where timestamp > ago(15m) and message has 'backlog'
| extend line = parse_json(message)
| where tostring(line.event) == 'backlog'
| project timestamp, seconds = toint(line.oldest_seconds), failed = toint(line.failed)
'''

// And reviews_waiting for each kind of quarantined items. The figures lack the entries of a batch.
var waitingReviews = '''
traces
| where timestamp > ago(15m) and message has 'reviews_waiting'
| extend line = parse_json(message)
| where tostring(line.event) == 'reviews_waiting'
| project timestamp, kind = tostring(line.kind), seconds = toint(line.oldest_seconds)
'''

// Each refresh of all tools logs cache_refreshed when it ends.
var refreshes = '''
traces
| where timestamp > ago(30m) and message has 'cache_refreshed'
| extend line = parse_json(message)
| where tostring(line.event) == 'cache_refreshed'
| project timestamp, status = tostring(line.status), failed = toint(line.failed)
'''

// Ingestion logs feed_disabled for a feed that is gone or failed ten times in a row. The app does not fetch it again.
var disabledFeeds = '''
traces
| where timestamp > ago(15m) and message has 'feed_disabled'
| extend line = parse_json(message)
| where tostring(line.event) == 'feed_disabled'
| project timestamp, feed = tostring(line.feed_id)
'''

// While most hosts fail at once, ingestion logs web_unreachable once a minute.
var outages = '''
traces
| where timestamp > ago(15m) and message has 'web_unreachable'
| extend line = parse_json(message)
| where tostring(line.event) == 'web_unreachable'
| where toint(line.failing) > 0
'''

// clean_up logs the share of feeds that are ill: failing, gone, blocked, empty, stale, silent, or disabled by the app.
var illFeeds = '''
traces
| where timestamp > ago(15m) and message has 'ill'
| extend line = parse_json(message)
| where tostring(line.event) == 'feeds'
| project timestamp, percent = todouble(line.percent)
'''

// One rule asks for all alerts of a severity, since each costs the same whatever it asks. A query has rows only if
// something is wrong. Its dimension `alert`, with what the alert is `of`, fires and resolves each alert by itself.
var important = [
  {
    // Work was given up after five tries.
    name: 'poison-messages'
    query: '${queueDepths}| where poison > 0'
    of: ', " ", queue'
  }
  {
    // clean_up has not said how deep the queues are, so poison messages would go unnoticed.
    name: 'queue-depths-unknown'
    query: '${queueDepths}| summarize lines = count() | where lines == 0'
    of: ''
  }
  {
    // No refresh of the aggregates has ended for 45 minutes, though one begins every 15.
    name: 'aggregates-old'
    query: '${refreshAges}| where seconds > 2700'
    of: ''
  }
  {
    // The figures lack articles, and say so.
    name: 'backlog-old'
    query: '${backlogs}| where seconds > 300'
    of: ''
  }
  {
    // A refresh of all tools ended without some of them: their figures grow old.
    name: 'refresh-failed'
    query: '${refreshes}| where status != "SUCCEEDED"'
    of: ''
  }
  {
    name: 'server-errors'
    query: 'requests | where timestamp > ago(15m) and toint(resultCode) >= 500 | summarize failures = sum(itemCount) | where failures > 5'
    of: ''
  }
]

var minor = [
  {
    // The figures lack these articles until somebody acts.
    name: 'articles-failed'
    query: '${backlogs}| where failed > 0'
  }
  {
    // Until a person decides.
    name: 'review-waits'
    query: '${waitingReviews}| where seconds > iff(kind == "BATCH", 86400, 604800)'
  }
  {
    name: 'feed-disabled'
    query: disabledFeeds
  }
  {
    name: 'feeds-ill'
    query: '${illFeeds}| where percent >= 25'
  }
]

var timerAlerts = [for timer in timers: {
  name: 'timer-silent-${timer.name}'
  query: 'requests | where timestamp > ago(${timer.silentAfterMinutes}m) and name == "${timer.name}" and success == true | summarize runs = count() | where runs == 0'
}]

// Nothing can be fetched, or what a timer keeps fresh grows old.
var urgent = concat([
  {
    name: 'web-unreachable'
    query: outages
  }
], timerAlerts)

var urgentRows = [for each in urgent: '(${each.query} | project alert = "${each.name}")']
var importantRows = [for each in important: '(${each.query} | project alert = strcat("${each.name}"${each.of}))']
var minorRows = [for each in minor: '(${each.query} | project alert = "${each.name}")']

var rules = [
  {
    name: 'urgent'
    description: 'The web cannot be reached, or a timer is silent.'
    severity: 1
    rows: urgentRows
  }
  {
    name: 'important'
    description: 'Figures are old or incomplete, work was given up, or requests fail.'
    severity: 2
    rows: importantRows
  }
  {
    name: 'minor'
    description: 'Feeds, articles or reviews need a person.'
    severity: 3
    rows: minorRows
  }
]

resource actionGroup 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(email)) {
  name: 'ag-${appName}'
  location: 'global'
  tags: tags
  properties: {
    enabled: true
    groupShortName: 'toolpulse'
    emailReceivers: [
      {
        name: 'operators'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

resource logAlerts 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for rule in (logAlertMinutes == 0 ? [] : rules): {
  name: '${appName}-${rule.name}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: '${appName}: ${rule.name}'
    description: rule.description
    enabled: true
    severity: rule.severity
    scopes: [
      insightsId
    ]
    evaluationFrequency: 'PT${logAlertMinutes}M'
    // As long as the longest look back.
    windowSize: 'PT45M'
    autoMitigate: true
    // In a new workspace the tables do not exist yet.
    skipQueryValidation: true
    criteria: {
      allOf: [
        {
          query: 'union ${join(rule.rows, ', ')}'
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 0
          dimensions: [
            {
              name: 'alert'
              operator: 'Include'
              values: [
                '*'
              ]
            }
          ]
          failingPeriods: {
            numberOfEvaluationPeriods: 1
            minFailingPeriodsToAlert: 1
          }
        }
      ]
    }
    actions: {
      actionGroups: actionGroups
    }
  }
}]

resource availability 'Microsoft.Insights/webtests@2022-06-15' = if (availabilityTestMinutes > 0) {
  name: '${appName}-health'
  location: location
  tags: union(tags, { 'hidden-link:${insightsId}': 'Resource' })
  kind: 'standard'
  properties: {
    SyntheticMonitorId: '${appName}-health'
    Name: '${appName} health'
    Description: 'Health answers 200 while the app is healthy or degraded, 503 when it is unhealthy.'
    Enabled: true
    Frequency: availabilityTestMinutes * 60
    Timeout: 30
    Kind: 'standard'
    RetryEnabled: true
    Locations: [
      {
        Id: 'emea-nl-ams-azr'
      }
      {
        Id: 'us-va-ash-azr'
      }
      {
        Id: 'apac-sg-sin-azr'
      }
    ]
    Request: {
      RequestUrl: '${appUrl}${healthPath}'
      HttpVerb: 'GET'
      ParseDependentRequests: false
    }
    ValidationRules: {
      ExpectedHttpStatusCode: 200
      SSLCheck: true
      SSLCertRemainingLifetimeCheck: 7
    }
  }
}

resource unavailable 'Microsoft.Insights/metricAlerts@2018-03-01' = if (availabilityTestMinutes > 0) {
  name: '${appName}-unavailable'
  location: 'global'
  tags: tags
  properties: {
    description: 'Health did not answer 200 at two or more places: the app is down, or says that it is unhealthy.'
    severity: 0
    enabled: true
    scopes: [
      availability.id
      insightsId
    ]
    evaluationFrequency: 'PT1M'
    windowSize: 'PT${availabilityTestMinutes}M'
    autoMitigate: true
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.WebtestLocationAvailabilityCriteria'
      webTestId: availability.id
      componentId: insightsId
      failedLocationCount: 2
    }
    actions: metricActions
  }
}

resource throttled 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: '${appName}-throttled'
  location: 'global'
  tags: tags
  properties: {
    description: 'Cosmos DB turns requests away (429): the app retries, but falls behind.'
    severity: 2
    enabled: true
    scopes: [
      cosmosId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT15M'
    autoMitigate: true
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          criterionType: 'StaticThresholdCriterion'
          name: 'throttled'
          metricNamespace: 'Microsoft.DocumentDB/databaseAccounts'
          metricName: 'TotalRequests'
          dimensions: [
            {
              name: 'StatusCode'
              operator: 'Include'
              values: [
                '429'
              ]
            }
          ]
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 100
        }
      ]
    }
    actions: metricActions
  }
}
