"""The table of contents: every function is in a blueprint in triggers/."""

import azure.functions as func

from triggers.http_articles import articles_http
from triggers.http_export import export_http
from triggers.http_feeds import feeds_http
from triggers.http_health import health_http
from triggers.http_quarantine import quarantine_http
from triggers.http_queues import queues_http
from triggers.http_runs import runs_http
from triggers.http_sentiment import sentiment_http
from triggers.http_tools import tools_http
from triggers.queues import queues
from triggers.timers import timers

app = func.FunctionApp()
for blueprint in (
    articles_http,
    export_http,
    feeds_http,
    health_http,
    quarantine_http,
    queues,
    queues_http,
    runs_http,
    sentiment_http,
    timers,
    tools_http,
):
    app.register_functions(blueprint)
