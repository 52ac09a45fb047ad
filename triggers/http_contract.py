"""The contract and its documentation over HTTP, and where the app's own address leads. None of them has any data, so
none needs a key."""

import functools
import json

import azure.functions as func

from triggers.bindings import OPEN, READ
from triggers.contract import contract
from triggers.declared import of_app
from triggers.http_page import ASKED_AGAIN, file_response
from triggers.page_files import PageFile, shipped_files

contract_http = func.Blueprint()

DASHBOARD, DOCS, CONTRACT, MCP = "/api/dashboard", "/api/docs", "/api/openapi.json", "/api/mcp"
PAGE = "reference/index.html"


@functools.cache
def contract_file() -> PageFile:
    """Made at the first request for it, then kept: what is declared does not change while the app runs."""
    document = contract(of_app(), reads_are_open=READ is OPEN)
    return PageFile.of(json.dumps(document, ensure_ascii=False).encode(), "application/json")


@contract_http.route(route="openapi.json", methods=["GET", "HEAD"], auth_level=OPEN)
async def get_openapi(req: func.HttpRequest) -> func.HttpResponse:
    return file_response(req, contract_file(), ASKED_AGAIN)


@contract_http.route(route="docs/{*path}", methods=["GET", "HEAD"], auth_level=OPEN)
async def get_docs(req: func.HttpRequest) -> func.HttpResponse:
    """Its files refer to each other by their paths below triggers/page."""
    path = (req.route_params.get("path") or "").strip("/")
    found = shipped_files().assets.get(path or PAGE)
    if found is None:
        return func.HttpResponse("There is no such file.\n", status_code=404, headers={"Cache-Control": "no-store"})
    return file_response(req, found, ASKED_AGAIN)


# `/api` itself: the host has no route without a part, and this part is always absent. The name comes late in the order
# in which the host tries functions, so that no other path could ever end here.
@contract_http.route(route="{nothing:maxlength(0)?}", methods=["GET", "HEAD"], auth_level=OPEN)
async def start(req: func.HttpRequest) -> func.HttpResponse:
    """Leads a browser to the dashboard and a program to the contract."""
    target = DASHBOARD if is_browser(req.headers.get("Accept", "")) else CONTRACT
    headers = {"Location": target, "Cache-Control": "no-store", "Vary": "Accept"}
    return func.HttpResponse(status_code=302, headers=headers)


def is_browser(accept: str) -> bool:
    """Whether `Accept` names HTML, as that of a browser that opens a page does."""
    kinds = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    return "text/html" in kinds
