"""The endpoint for programs that speak MCP (Model Context Protocol): streamable HTTP, without sessions.

The official SDK speaks the protocol; it is an ASGI application, which gets one request at a time. Each request stands
for itself, so that any instance can answer it: there is no stream to listen to, and no session to end. The SDK is
imported at the first request, since it takes half a second to load. No key comes with a request by itself, as a cookie
would, so a page of another site cannot use one; the local host refuses such pages besides.
"""

from __future__ import annotations

import azure.functions as func

from services.container import Container
from triggers.bindings import READ, traced, with_container
from triggers.http_codec import with_problem_responses

mcp_http = func.Blueprint()


# A GET would open a stream and a DELETE end a session: the specification wants 405 where there are none.
@mcp_http.route(route="mcp", methods=["GET", "POST", "DELETE"], auth_level=READ)
@traced
@with_problem_responses
@with_container
async def mcp(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    if req.method != "POST":
        return func.HttpResponse(status_code=405, headers={"Allow": "POST"})
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from triggers.mcp_tools import server_of

    manager = StreamableHTTPSessionManager(server_of(services), json_response=True, stateless=True)
    async with manager.run():
        response: func.HttpResponse = await func.AsgiMiddleware(manager.handle_request).handle_async(req)
        return response
