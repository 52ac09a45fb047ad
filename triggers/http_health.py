"""Liveness and readiness: open to everybody, so it tells nothing that is secret."""

import azure.functions as func

from models.errors import InvalidInput
from services import container
from triggers.access import OPEN
from triggers.http_codec import answering, json_answer, problem

health_http = func.Blueprint()


@health_http.route(route="v1/health", methods=["GET"], auth_level=OPEN)
@answering
async def health(req: func.HttpRequest) -> func.HttpResponse:
    try:
        services = await container.get()
    except InvalidInput as error:
        return problem(503, "Not configured", f"This app's settings need a hand. {error}")
    report = await services.health.report()
    return json_answer(report.shown(), status=503 if report.status == "unhealthy" else 200)
