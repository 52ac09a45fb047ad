"""WebSub over HTTP: hubs verify subscriptions and push. They have no key; the path of each callback is a secret."""

import azure.functions as func

from models.errors import NotFound
from services.container import Container
from services.feeds.websub import Verification
from triggers.bindings import OPEN, with_container
from triggers.http_codec import text_response, with_problem_responses

websub_http = func.Blueprint()

_PLAIN = {"X-Content-Type-Options": "nosniff"}
_LONGEST_NUMBER = 18


@websub_http.route(route="websub/{token}", methods=["GET"], auth_level=OPEN)
@with_problem_responses
@with_container
async def verify_websub(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Confirms what this app has asked of a hub. Hubs may send further parameters."""
    given, lease = req.params, req.params.get("hub.lease_seconds", "")
    is_number = lease.isascii() and lease.isdigit() and len(lease) <= _LONGEST_NUMBER
    asked = Verification(
        given.get("hub.mode", ""),
        given.get("hub.topic", ""),
        given.get("hub.challenge", ""),
        int(lease) if is_number else None,
    )
    return text_response(await services.websub.verify(req.route_params["token"], asked), "text/plain", _PLAIN)


@websub_http.route(route="websub/{token}", methods=["POST"], auth_level=OPEN)
@with_problem_responses
@with_container
async def receive_websub(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """202, whether the signature was right or not: as the recommendation says. 410 tells the hub to send no more."""
    try:
        await services.websub.push(req.route_params["token"], req.get_body(), req.headers.get("X-Hub-Signature", ""))
    except NotFound:
        return text_response("", "text/plain", status=410)
    return text_response("", "text/plain", status=202)
