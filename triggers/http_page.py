"""The dashboard: a page and its files. They hold no data and need no key: the page asks the API with the reader's key.

Every path that is no asset gets the page, which shows the view that the path names.
"""

from collections.abc import Mapping
from types import MappingProxyType

import azure.functions as func

from triggers.compression import accepts_gzip
from triggers.page_files import PageFile, PageFiles, shipped_files

page_http = func.Blueprint()

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
