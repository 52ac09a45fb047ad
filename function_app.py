"""The table of contents: every function is in a blueprint in triggers/."""

import azure.functions as func

from triggers.http_health import health_http
from triggers.http_queues import queues_http
from triggers.timers import timers

app = func.FunctionApp()
for blueprint in (health_http, queues_http, timers):
    app.register_functions(blueprint)
