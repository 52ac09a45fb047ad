"""The table of contents: every function is in a blueprint in triggers/."""

import azure.functions as func

from triggers.background import queues, timers
from triggers.http_articles import articles_http
from triggers.http_corrections import corrections_http, grouping_http
from triggers.http_feeds import feeds_http
from triggers.http_history import history_http
from triggers.http_operations import operations_http
from triggers.http_page import mcp_http, page_http
from triggers.http_sentiment import sentiment_http
from triggers.http_stories import stories_http
from triggers.http_tools import tools_http

app = func.FunctionApp()
for blueprint in (
    articles_http,
    corrections_http,
    feeds_http,
    history_http,
    grouping_http,
    mcp_http,
    operations_http,
    page_http,
    queues,
    sentiment_http,
    stories_http,
    timers,
    tools_http,
):
    app.register_functions(blueprint)
