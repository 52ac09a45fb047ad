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
| where message has 'queue_depth'
| extend line = parse_json(message)
| where tostring(line.event) == 'queue_depth'
| project timestamp, queue = tostring(line.queue), poison = toint(line.poison)
'''

// The same run logs refresh_age, in seconds, once a first refresh has ended.
var refreshAges = '''
traces
| where message has 'refresh_age'
| extend line = parse_json(message)
| where tostring(line.event) == 'refresh_age'
| project timestamp, seconds = toint(line.seconds)
'''

// And backlog: the articles whose analysis is due or was given up. Figures lack both.
var backlogs = '''
traces
| where message has 'backlog'
| extend line = parse_json(message)
| where tostring(line.event) == 'backlog'
| project timestamp, seconds = toint(line.oldest_seconds), failed = toint(line.failed)
'''

// And reviews_waiting for each kind of quarantined items. The figures lack the entries of a batch.
var waitingReviews = '''
traces
| where message has 'reviews_waiting'
| extend line = parse_json(message)
| where tostring(line.event) == 'reviews_waiting'
| project timestamp, kind = tostring(line.kind), seconds = toint(line.oldest_seconds)
'''

// Each refresh of all tools logs cache_refreshed when it ends.
var refreshes = '''
traces
| where message has 'cache_refreshed'
| extend line = parse_json(message)
| where tostring(line.event) == 'cache_refreshed'
| project timestamp, status = tostring(line.status), failed = toint(line.failed)
'''

// Ingestion logs feed_disabled for a feed that is gone or failed ten times in a row. The app does not fetch it again.
var disabledFeeds = '''
traces
| where message has 'feed_disabled'
| extend line = parse_json(message)
| where tostring(line.event) == 'feed_disabled'
| project timestamp, feed = tostring(line.feed_id), reason = tostring(line.reason)
'''

// While most hosts fail at once, ingestion logs web_unreachable once a minute.
var outages = '''
traces
| where message has 'web_unreachable'
| extend line = parse_json(message)
| where tostring(line.event) == 'web_unreachable'
| project timestamp, failing = toint(line.failing)
'''

// clean_up logs the share of feeds that are ill: failing, gone, blocked, empty, stale, silent, or disabled by the app.
var illFeeds = '''
traces
| where message has 'ill'
| extend line = parse_json(message)
| where tostring(line.event) == 'feeds'
| project timestamp, percent = todouble(line.percent)
'''

var everyQueue = [
  {
    name: 'queue'
    operator: 'Include'
    values: [
      '*'
    ]
  }
]

var ownRules = [
  {
    name: 'poison-messages'
    description: 'Work was given up after five tries and waits in a poison queue.'
    severity: 2
    window: 'PT15M'
    query: '${queueDepths}| where poison > 0'
    column: 'poison'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: everyQueue
  }
  {
    name: 'queue-depths-unknown'
    description: 'clean_up has not said how deep the queues are, so poison messages would go unnoticed.'
    severity: 2
    window: 'PT15M'
    query: '${queueDepths}| summarize lines = count()'
    column: 'lines'
    aggregation: 'Total'
    operator: 'LessThan'
    threshold: 1
    dimensions: []
  }
  {
    name: 'aggregates-old'
    description: 'No refresh of the aggregates has ended for 45 minutes, though one begins every 15.'
    severity: 2
    window: 'PT15M'
    query: '${refreshAges}| where seconds > 2700'
    column: 'seconds'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 2700
    dimensions: []
  }
  {
    name: 'backlog-old'
    description: 'An article has waited for its analysis for five minutes: the figures lack it, and say so.'
    severity: 2
    window: 'PT15M'
    query: '${backlogs}| where seconds > 300'
    column: 'seconds'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 300
    dimensions: []
  }
  {
    name: 'articles-failed'
    description: 'The analysis of articles was given up: the figures lack them until somebody acts.'
    severity: 3
    window: 'PT15M'
    query: '${backlogs}| where failed > 0'
    column: 'failed'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: []
  }
  {
    name: 'review-waits'
    description: 'Entries wait in quarantine for over a day, or full texts for over a week, until a person decides.'
    severity: 3
    window: 'PT15M'
    query: '${waitingReviews}| where seconds > iff(kind == "BATCH", 86400, 604800)'
    column: 'seconds'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 86400
    dimensions: []
  }
  {
    name: 'refresh-failed'
    description: 'A refresh of all tools ended without some of them: their figures grow old.'
    severity: 2
    window: 'PT30M'
    query: '${refreshes}| where status != "SUCCEEDED" | summarize refreshes = count()'
    column: 'refreshes'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: []
  }
  {
    name: 'feed-disabled'
    description: 'Feeds were disabled, since they are gone or failed ten times in a row: nothing comes from them any more.'
    severity: 3
    window: 'PT15M'
    query: '${disabledFeeds}| summarize feeds = dcount(feed)'
    column: 'feeds'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: []
  }
  {
    name: 'web-unreachable'
    description: 'Most hosts fail at once: this installation cannot reach the web. No feed is blamed.'
    severity: 1
    window: 'PT15M'
    query: '${outages}| where failing > 0'
    column: 'failing'
    aggregation: 'Maximum'
    operator: 'GreaterThan'
    threshold: 0
    dimensions: []
  }
  {
    name: 'feeds-ill'
    description: 'A quarter or more of the feeds are ill: health is degraded, and sources are missing.'
    severity: 3
    window: 'PT15M'
    query: '${illFeeds}| where percent >= 25'
    column: 'percent'
    aggregation: 'Maximum'
    operator: 'GreaterThanOrEqual'
    threshold: 25
    dimensions: []
  }
  {
    name: 'server-errors'
    description: 'HTTP answers of 500 and above.'
    severity: 2
    window: 'PT15M'
    query: 'requests | where toint(resultCode) >= 500 | summarize failures = sum(itemCount)'
    column: 'failures'
    aggregation: 'Total'
    operator: 'GreaterThan'
    threshold: 5
    dimensions: []
  }
]

var timerRules = [for timer in timers: {
  name: 'timer-silent-${timer.name}'
  description: '${timer.name} has not run well for too long: what it keeps fresh grows old.'
  severity: 1
  window: timer.silentAfter
  query: 'requests | where name == "${timer.name}" and success == true | summarize runs = count()'
  column: 'runs'
  aggregation: 'Total'
  operator: 'LessThan'
  threshold: 1
  dimensions: []
}]

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

resource logAlerts 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [for rule in (logAlertMinutes == 0 ? [] : concat(ownRules, timerRules)): {
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
    windowSize: rule.window
    autoMitigate: true
    criteria: {
      allOf: [
        {
          query: rule.query
          metricMeasureColumn: rule.column
          timeAggregation: rule.aggregation
          operator: rule.operator
          threshold: rule.threshold
          dimensions: rule.dimensions
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
