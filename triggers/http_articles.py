"""Articles over HTTP: lists by filter, one article with its observations, deletion, export and quarantine."""

from typing import get_args

import azure.functions as func

from models.document import DocumentProduct
from models.request import FEED_ID_FORM, Nothing
from models.resources.articles import (
    ArticleResource,
    DocumentResource,
    FileResource,
    MentionResource,
    ObservationResource,
    QuarantinePreview,
    QuarantineResource,
)
from models.states import ArticleStatus
from services.articles.quarantine import STATUSES, Review
from services.articles.reading import LAYERS, LONGEST_SEARCH, SAID, article_filter
from services.articles.sources import MAX_SHOWN, with_sources
from services.container import Container
from services.documents.documents import STATUSES as DOCUMENT_STATUSES
from services.documents.documents import DocumentFilter
from services.feeds.claims import INGESTION_STAGE
from services.mentions.listing import mentions_of_article
from services.operations.export import COLUMNS
from services.operations.export import LAYERS as EXPORT_LAYERS
from services.parse.publisher_id import shown_name
from services.ports import Listed
from triggers.bindings import Routes
from triggers.contract import Answer, Header, ListOf, ok
from triggers.http_codec import (
    csv_text,
    json_lines,
    json_response,
    left_out,
    no_content,
    resources_response,
    sent,
    text_response,
)
from triggers.parameters import MAX_LIMIT, VIEW, flag, given_of, maybe_one_of, one_of, page_of, text, time, whole

articles_http = Routes()

LONGEST_FILTER = 200
FILTERS = (
    maybe_one_of("sentiment", SAID, "Articles that say so; `unscored`: those that could not be scored.", "positive"),
    maybe_one_of("status", get_args(ArticleStatus), "Articles whose analysis has this status.", "analyzed"),
    text("tag", "Articles with this tag of a source.", longest=LONGEST_FILTER, example="python"),
    text("tool", "Articles that mention the tool: an id, a name or an alias.", example="Python"),
    text("source", "Articles of this source: the id of a feed.", pattern=FEED_ID_FORM, example="python-insider"),
    text("publisher", "Articles of this publisher: its `publisher_id`.", longest=LONGEST_FILTER, example="python.org"),
    text(
        "language",
        "Articles in this language: the primary subtag, such as en; `und` for not known.",
        form="language",
        example="en",
    ),
    time("since", "Articles with a `timestamp` at this time or later.", "2026-02-01T00:00:00Z"),
    time("until", "Articles with a `timestamp` before this time.", "2027-02-01T00:00:00Z"),
    text(
        "text",
        "Articles with all these words, up to 20; between quotation marks, words that follow each other.",
        longest=LONGEST_SEARCH,
        form="words",
        example="release",
    ),
)
LAYER = one_of("layer", LAYERS, "`raw`: also what each source published.", "canonical")
EXPORT_LAYER = one_of(
    "layer",
    EXPORT_LAYERS,
    "`canonical`: articles. `raw`: observations. `mentions`: mentions. `stories`: stories of two articles or more.",
    "canonical",
)
FORM = one_of("format", ("ndjson", "csv"), "One JSON document in each line, or CSV as of RFC 4180.", "ndjson")
EXPORT_LIMIT = whole("limit", 1, MAX_LIMIT, "How many records a page has at most.", MAX_LIMIT)
EXPORT_CURSOR = text(
    "cursor",
    "`X-Next-Cursor` of the page before; or `X-Resume-Cursor` of an earlier export, for what was written or removed "
    "since.",
    form="cursor",
)
BY_TOOL = text("tool", "Documents of articles that mention the tool: an id, a name or an alias.", example="Python")
BY_ARTICLE = text("article", "The document of this article: an id.", example="dedup:0f8fad5bd9cb469fa16570867728950e")
ACQUIRED = maybe_one_of(
    "status", DOCUMENT_STATUSES, "Documents with this `acquisition_status` or `validation_status`.", "QUARANTINED"
)
ELIGIBLE = flag("eligible", "`true`: documents that are to be tried now, since `next_eligible_attempt_at` has come.")
HELD = maybe_one_of("status", STATUSES, "Items with this `manual_review_status`.", "PENDING")


@articles_http.get("articles", *FILTERS, returns=ListOf("Articles", ArticleResource))
async def list_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List articles, newest first.

    Filters can be combined. A page with the filter `text` or `source` may be shorter than `limit`.
    """
    given = given_of(req, FILTERS)
    if "tool" in given:
        given["tool"] = (await services.tools.get(given["tool"])).tool_id
    page, view = await services.articles.page(article_filter(given), *page_of(req)), VIEW.of(req)
    return resources_response(page, lambda each: ArticleResource.of(each, shown_name(each.publisher_id), view))


@articles_http.get("articles/{article_id}", LAYER, returns=ArticleResource)
async def get_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get an article with its mentions."""
    layer, view = LAYER.of(req), VIEW.of(req)
    article = await services.articles.get(req.route_params["article_id"])
    mentions = await mentions_of_article(services.store, services.tools, article)
    whole = with_sources(article, MAX_SHOWN)
    resource = ArticleResource.of(whole, shown_name(article.publisher_id), view)
    resource = resource.with_added(
        mentions=[MentionResource.of(each.mention, view).with_added(tool=each.tool) for each in mentions.items]
    )
    unreadable = mentions.unreadable
    if layer == "raw":
        observations = await services.articles.observations(article)
        found = [ObservationResource.of(each, article, mentions.items, view) for each in observations.items]
        resource, unreadable = resource.with_added(observations=found), (*unreadable, *observations.unreadable)
    return json_response(resource.with_added(**left_out(unreadable)).shown())


@articles_http.delete(
    "articles/{article_id}", returns=Answer(204, "The article, its mentions and its figures are gone.")
)
async def delete_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Delete an article.

    A tombstone keeps it from coming back while its sources still publish it.
    """
    await services.workflows.changes.delete_article(req.route_params["article_id"])
    return no_content()


@articles_http.get("documents", BY_TOOL, BY_ARTICLE, ACQUIRED, ELIGIBLE, returns=ListOf("Documents", DocumentResource))
async def list_documents(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the full texts behind articles, newest first.

    Eligible ones are in the order in which they are tried. A page with the filter `tool` may be shorter than `limit`.
    """
    return await _documents(services, req, BY_TOOL.of(req))


@articles_http.get("tools/{tool}/documents", ACQUIRED, ELIGIBLE, returns=ListOf("Documents", DocumentResource))
async def list_tool_documents(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the full texts behind the articles of a tool.

    In the order of the articles, newest first. A page may be shorter than `limit`.
    """
    return await _documents(services, req, req.route_params["tool"])


async def _documents(services: Container, req: func.HttpRequest, tool: str | None) -> func.HttpResponse:
    named, view = BY_ARTICLE.of(req), VIEW.of(req)
    article = await services.articles.get(named) if named else None
    tool_id = (await services.tools.get(tool)).tool_id if tool else None
    source_id = None if article is None else article.source_id
    of_tool = None if article is not None else tool_id
    asked = DocumentFilter(ACQUIRED.of(req), ELIGIBLE.of(req), source_id, of_tool)
    page: Listed[DocumentProduct] = Listed([])
    if article is None or tool_id is None or tool_id in article.detected_tool_ids:
        page = await services.fetching.documents.page(asked, *page_of(req))
    return resources_response(page, lambda each: DocumentResource.of(each, view))


@articles_http.get("articles/{article_id}/document", tag="Documents", returns=DocumentResource)
async def get_document(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get the state of an article's full text."""
    found = await services.fetching.documents.get(req.route_params["article_id"], VIEW.of(req))
    return json_response(found.shown())


@articles_http.get("articles/{article_id}/document/files/{file_id}", tag="Documents", returns=FileResource)
async def get_document_file(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Read a file of an article's full text.

    The text, the page as it was fetched (5 MB at most), or what stands on a page that waits for a person.
    """
    parts = req.route_params
    found = await services.fetching.documents.file(parts["article_id"], parts["file_id"], VIEW.of(req))
    return json_response(found.shown())


@articles_http.post(
    "articles/{article_id}/document",
    tag="Documents",
    body=Nothing,
    returns=Answer(202, "Accepted: the page is fetched soon.", DocumentResource),
    problems={409: "The document is in quarantine: review it first."},
)
async def acquire_document(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Acquire the full text of an article."""
    sent(req, Nothing)
    document = await services.fetching.documents.acquire(req.route_params["article_id"])
    return json_response(DocumentResource.of(document, VIEW.of(req)).shown(), 202)


@articles_http.get(
    "export",
    EXPORT_LAYER,
    FORM,
    EXPORT_LIMIT,
    EXPORT_CURSOR,
    returns=ok(
        None,
        "A page of records.",
        media_types=("application/x-ndjson", "text/csv"),
        headers={
            "X-Resume-Cursor": Header("Where to continue any time later."),
            "X-Next-Cursor": Header("The next page; absent on the last one.", is_always_there=False),
            "X-Unreadable": Header(
                "How many documents were left out, if there are any.", {"type": "integer"}, is_always_there=False
            ),
        },
    ),
)
async def export_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Export a layer, page by page.

    Every record is exported at least once, and again after each change. Removals are records with the id, `removed`
    and `removed_at`.
    """
    layer, form = EXPORT_LAYER.of(req), FORM.of(req)
    limit, cursor = EXPORT_LIMIT.of(req), EXPORT_CURSOR.of(req)
    page = await services.operations.export.page(layer, limit, cursor)
    headers = {"X-Resume-Cursor": page.resume}
    if page.next is not None:
        headers["X-Next-Cursor"] = page.next
    if page.unreadable:
        headers["X-Unreadable"] = str(page.unreadable)
    if form == "csv":
        text = csv_text(COLUMNS[layer], page.items, with_header=cursor is None)
        return text_response(text, "text/csv", headers)
    return text_response(json_lines(page.items), "application/x-ndjson", headers)


@articles_http.get("quarantine", HELD, returns=ListOf("QuarantineItems", QuarantineResource), is_management=True)
async def list_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the items in quarantine, newest first."""
    page, view = await services.quarantine.page(HELD.of(req), *page_of(req)), VIEW.of(req)
    return resources_response(page, lambda item: QuarantineResource.of(item, view))


@articles_http.get(
    "quarantine/{quarantine_id}/preview",
    returns=QuarantinePreview,
    problems={409: "The item was reviewed."},
    is_management=True,
)
async def preview_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Show what each decision about a batch or a full text would do.

    Nothing is written. Of a full text: what its archived page is found to be now.
    """
    found = await services.workflows.previews.of_item(req.route_params["quarantine_id"])
    return json_response(found.shown())


@articles_http.post(
    "quarantine/{quarantine_id}/review",
    body=Review,
    returns=QuarantineResource,
    problems={409: "Another decision, or another person's, was recorded before."},
)
async def review_quarantine(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Record a decision about an item, once.

    The same decision of the same person again is accepted.
    """
    body = sent(req, Review)
    reviewed = await services.quarantine.review(
        req.route_params["quarantine_id"], body.decision, body.author, body.reason
    )
    if reviewed.run_id is not None:
        await services.announcer.announce_stored(INGESTION_STAGE, [reviewed.run_id])
    if reviewed.item.kind == "DOCUMENT":
        await services.fetching.documents.follow(reviewed.item)
    return json_response(QuarantineResource.of(reviewed.item, VIEW.of(req)).with_added(run_id=reviewed.run_id).shown())
