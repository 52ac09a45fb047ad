"""Corrections of articles and stories over HTTP: split, join, keep apart, undo; and the merge ledger."""

import azure.functions as func

from models.errors import NotFound
from models.grouping_correction import GroupingCorrection
from services.container import Container
from services.mentions.correction_form import UNDO_FIELDS, signed
from services.stories import correction_form as form
from services.stories.corrections import STATES
from triggers.bindings import endpoint
from triggers.http_codec import choice, json_body, json_response, list_response, page_of, page_response

grouping_http = func.Blueprint()


@endpoint(grouping_http, "POST", "articles/{article_id}/split")
async def split_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, form.SPLIT_FIELDS)
    source, by = form.source(body), signed(body)
    return _made(await services.grouping_changes.split_article(req.route_params["article_id"], source, by))


@endpoint(grouping_http, "POST", "articles/{article_id}/join")
async def join_articles(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, form.PAIR_FIELDS)
    kind, other, by = form.JOINING[form.level(body)], form.article(body), signed(body)
    return _made(await services.grouping_changes.relate(kind, req.route_params["article_id"], other, by))


@endpoint(grouping_http, "POST", "articles/{article_id}/keep-apart")
async def keep_articles_apart(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, form.PAIR_FIELDS)
    kind, other, by = form.SEPARATING[form.level(body)], form.article(body), signed(body)
    return _made(await services.grouping_changes.relate(kind, req.route_params["article_id"], other, by))


@endpoint(grouping_http, "POST", "stories/{event_id}/split")
async def split_story(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, form.STORY_SPLIT_FIELDS)
    leaving, by = form.articles(body), signed(body)
    return _made(await services.grouping_changes.split_story(req.route_params["event_id"], leaving, by))


@endpoint(grouping_http, "POST", "stories/{event_id}/join")
async def join_stories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, form.STORIES_FIELDS)
    other, by = form.story(body), signed(body)
    changes = services.grouping_changes
    return _made(await changes.relate_stories("ONE_STORY", req.route_params["event_id"], other, by))


@endpoint(grouping_http, "POST", "stories/{event_id}/keep-apart")
async def keep_stories_apart(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    body = json_body(req, form.STORIES_FIELDS)
    other, by = form.story(body), signed(body)
    changes = services.grouping_changes
    return _made(await changes.relate_stories("NOT_ONE_STORY", req.route_params["event_id"], other, by))


@endpoint(grouping_http, "GET", "corrections", "state", "limit", "cursor", is_management=True)
async def list_grouping_corrections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    state = choice(req, "state", "active", STATES) if "state" in req.params else None
    return page_response(await services.grouping_corrections.page(state, *page_of(req)))


@endpoint(grouping_http, "GET", "corrections/{correction_id}", is_management=True)
async def get_grouping_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    return json_response((await services.grouping_corrections.get(req.route_params["correction_id"])).shown())


@endpoint(grouping_http, "POST", "corrections/{correction_id}/undo")
async def undo_grouping_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    by = signed(json_body(req, UNDO_FIELDS))
    return json_response((await services.grouping_changes.undo(req.route_params["correction_id"], by)).shown())


@endpoint(grouping_http, "GET", "articles/{article_id}/ledger")
async def get_article_ledger(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    article = await services.articles.get(req.route_params["article_id"])
    return json_response(await services.ledger.of_article(article))


@endpoint(grouping_http, "GET", "stories/{event_id}/ledger", "limit", "cursor")
async def get_story_ledger(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    event_id = req.route_params["event_id"]
    limit, cursor = page_of(req)
    page = await services.ledger.of_story(event_id, limit, cursor)
    if not page.items and cursor is None:
        raise NotFound(f"story: there is none with the id {event_id[:200]!r}")
    return list_response(page.items, page.next, page.unreadable)


def _made(correction: GroupingCorrection) -> func.HttpResponse:
    location = {"Location": f"/api/v1/corrections/{correction.correction_id}"}
    return json_response(correction.shown(), 201, location)
