"""Pages over HTTP: the dashboard with its files, the contract and its documentation, and where the app's own address
leads. They hold no data and need no key: the dashboard asks the API with the reader's key. Also the endpoint for
programs that speak MCP (Model Context Protocol).

Every path of the dashboard that is no asset gets its page, which shows the view that the path names. Files are found by
their exact name among those that were read, so that no path of a request reaches the disk. Assets have the digest of
all files in their path: a browser keeps them for good, and asks for others after a deployment.
"""

import functools
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Self

import azure.functions as func

from services.container import Container
from triggers.bindings import OPEN, READ, traced, with_container
from triggers.contract import contract, of_app
from triggers.http_codec import accepts_gzip, with_problem_responses

FOLDER = Path(__file__).with_name("page")
PAGE = "dashboard/index.html"
_LANGUAGES = "dashboard/i18n/"

TYPES = {
    ".html": "text/html",
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".txt": "text/plain",
}
"""What else is in the folder, such as a page for developers, is not served."""


@dataclass(frozen=True, slots=True)
class PageFile:
    content: bytes
    zipped: bytes
    media_type: str
    etag: str

    @classmethod
    def of(cls, content: bytes, media_type: str) -> Self:
        etag = f'"{hashlib.blake2b(content, digest_size=12).hexdigest()}"'
        return cls(content, gzip.compress(content, 9, mtime=0), media_type, etag)


@dataclass(frozen=True, slots=True)
class PageFiles:
    """`page` is the HTML that every view begins with; `assets` are the other files; `digest` is that of all files."""

    page: PageFile
    assets: Mapping[str, PageFile]
    digest: str


def read_files(folder: Path) -> PageFiles:
    contents = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.suffix in TYPES and path.is_file()
    }
    digest = hashlib.blake2b(digest_size=8)
    for name, content in contents.items():
        digest.update(f"{name}\0{len(content)}\0".encode() + content)
    version = digest.hexdigest()
    languages = " ".join(
        Path(name).stem for name in contents if name.startswith(_LANGUAGES) and name != f"{_LANGUAGES}index.js"
    )
    page = contents.pop(PAGE).decode("utf-8").replace("{assets}", version).replace("{languages}", languages)
    assets = {name: PageFile.of(content, TYPES[Path(name).suffix]) for name, content in contents.items()}
    return PageFiles(PageFile.of(page.encode("utf-8"), TYPES[".html"]), assets, version)


@functools.cache
def shipped_files() -> PageFiles:
    """Read once: the files of a deployed app do not change."""
    return read_files(FOLDER)


page_http = func.Blueprint()

DASHBOARD, DOCS, CONTRACT, MCP = "/api/dashboard", "/api/docs", "/api/openapi.json", "/api/mcp"
ASSETS = "assets/"
SECURITY = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self'",
            "connect-src 'self'",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Opener-Policy": "same-origin",
}
TOOL_VIEW = tuple(
    f"dashboard/{name}.js"
    for name in (
        *("views/tool", "views/tool/articles", "views/tool/feed-names", "views/tool/made_of", "views/tool/sources"),
        *("views/tool/stories", "views/tool/why", "lib/corrections", "lib/marks", "lib/operations"),
    )
)
"""What the view of a tool needs besides the modules that the page names for every view."""
KEPT_FOR_GOOD = "public, max-age=31536000, immutable"
ASKED_AGAIN = "no-cache"
REFERENCE = "reference/index.html"


@page_http.route(route="dashboard/{*path}", methods=["GET", "HEAD"], auth_level=func.AuthLevel.ANONYMOUS)
async def get_dashboard(req: func.HttpRequest) -> func.HttpResponse:
    path = req.route_params.get("path") or ""
    found = file_at(shipped_files(), path)
    if found is None:
        return func.HttpResponse("There is no such file.\n", status_code=404, headers={"Cache-Control": "no-store"})
    return file_response(req, *found, modules_ahead(shipped_files(), path))


def file_at(files: PageFiles, path: str) -> tuple[PageFile, str] | None:
    """The file for a path below `dashboard/`, with its Cache-Control. An asset of another version is served as it is
    now, and not kept: while a deployment is under way, two versions answer."""
    if not path.startswith(ASSETS):
        return files.page, ASKED_AGAIN
    version, _, name = path.removeprefix(ASSETS).partition("/")
    asset = files.assets.get(name)
    if asset is None:
        return None
    return asset, KEPT_FOR_GOOD if version == files.digest else ASKED_AGAIN


def modules_ahead(files: PageFiles, path: str) -> dict[str, str]:
    """The header by which a browser loads the modules of a tool's view at once: it would find them one after the
    other, since each is named by the one before."""
    if not path.startswith("tools/"):
        return {}
    links = (f"</api/dashboard/{ASSETS}{files.digest}/{name}>; rel=modulepreload" for name in TOOL_VIEW)
    return {"Link": ", ".join(links)}


def file_response(
    req: func.HttpRequest, file: PageFile, cache_control: str, more: Mapping[str, str] = MappingProxyType({})
) -> func.HttpResponse:
    headers = {**SECURITY, "Cache-Control": cache_control, "ETag": file.etag, "Vary": "Accept-Encoding", **more}
    if req.headers.get("If-None-Match", "").removeprefix("W/") == file.etag:
        return func.HttpResponse(status_code=304, headers=headers)
    content = file.content
    if accepts_gzip(req.headers.get("Accept-Encoding", "")):
        content, headers["Content-Encoding"] = file.zipped, "gzip"
    return func.HttpResponse(content, headers=headers, mimetype=file.media_type, charset="utf-8")


@functools.cache
def contract_file() -> PageFile:
    """Made at the first request for it, then kept: what is declared does not change while the app runs."""
    document = contract(of_app(), reads_are_open=READ is OPEN)
    return PageFile.of(json.dumps(document, ensure_ascii=False).encode(), "application/json")


@page_http.route(route="openapi.json", methods=["GET", "HEAD"], auth_level=OPEN)
async def get_openapi(req: func.HttpRequest) -> func.HttpResponse:
    return file_response(req, contract_file(), ASKED_AGAIN)


@page_http.route(route="docs/{*path}", methods=["GET", "HEAD"], auth_level=OPEN)
async def get_docs(req: func.HttpRequest) -> func.HttpResponse:
    """Its files refer to each other by their paths below triggers/page."""
    path = (req.route_params.get("path") or "").strip("/")
    found = shipped_files().assets.get(path or REFERENCE)
    if found is None:
        return func.HttpResponse("There is no such file.\n", status_code=404, headers={"Cache-Control": "no-store"})
    return file_response(req, found, ASKED_AGAIN)


# `/api` itself: the host has no route without a part, and this part is always absent. The name comes late in the order
# in which the host tries functions, so that no other path could ever end here.
@page_http.route(route="{nothing:maxlength(0)?}", methods=["GET", "HEAD"], auth_level=OPEN)
async def start(req: func.HttpRequest) -> func.HttpResponse:
    """Leads a browser to the dashboard and a program to the contract."""
    target = DASHBOARD if is_browser(req.headers.get("Accept", "")) else CONTRACT
    headers = {"Location": target, "Cache-Control": "no-store", "Vary": "Accept"}
    return func.HttpResponse(status_code=302, headers=headers)


def is_browser(accept: str) -> bool:
    """Whether `Accept` names HTML, as that of a browser that opens a page does."""
    kinds = [each.partition(";")[0].strip().lower() for each in accept.split(",")]
    return "text/html" in kinds


mcp_http = func.Blueprint()


# A GET would open a stream and a DELETE end a session: the specification wants 405 where there are none.
@mcp_http.route(route="mcp", methods=["GET", "POST", "DELETE"], auth_level=READ)
@traced
@with_problem_responses
@with_container
async def mcp(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Streamable HTTP, without sessions.

    The official SDK speaks the protocol; it is an ASGI application, which gets one request at a time. Each request
    stands for itself, so that any instance can answer it: there is no stream to listen to, and no session to end. The
    SDK is imported at the first request, since it takes half a second to load. No key comes with a request by itself,
    as a cookie would, so a page of another site cannot use one; the local host refuses such pages besides.
    """
    if req.method != "POST":
        return func.HttpResponse(status_code=405, headers={"Allow": "POST"})
    from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

    from triggers.mcp_tools import server_of

    manager = StreamableHTTPSessionManager(server_of(services), json_response=True, stateless=True)
    async with manager.run():
        response: func.HttpResponse = await func.AsgiMiddleware(manager.handle_request).handle_async(req)
        return response
