"""Corrections of articles and stories over HTTP: split an article; split, join and keep apart stories; undo; and the
merge ledger."""

import azure.functions as func

from models.correction import GroupingCorrection
from models.errors import NotFound
from models.request import SignedBody
from models.resources.corrections import GroupingCorrectionResource
from models.resources.stories import LedgerEntry
from services.container import Container
from services.stories.pins import STATES, ArticleSplit, StoryPair, StorySplit
from triggers.bindings import Routes
from triggers.declared import a_list, created, ok
from triggers.http_codec import json_response, list_response, resources_response, sent
from triggers.parameters import PAGE, VIEW, maybe_one_of, page_of

grouping_http = Routes("Grouping")

STATE = maybe_one_of("state", STATES, "Corrections in this state.", "active")
MADE = created(GroupingCorrectionResource, "The correction is stored; grouping obeys it from now on.")


@grouping_http.post(
    "articles/{article_id}/split",
    VIEW,
    body=ArticleSplit,
    returns=MADE,
    problems={409: "It is the only source of the article, or all have its link."},
)
async def split_article(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Make a source of an article an article of its own.

    With all sources that have its link. Further sources with the same headline and day are articles of their own
    too.
    """
    body = sent(req, ArticleSplit)
    changes, by = services.workflows.grouping_changes, body
    return _made(req, await changes.split_article(req.route_params["article_id"], body.source, by))


@grouping_http.post(
    "stories/{event_id}/split",
    VIEW,
    body=StorySplit,
    returns=MADE,
    problems={409: "The articles are all of the story."},
)
async def split_story(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Let articles leave a story together."""
    body = sent(req, StorySplit)
    leaving, by = body.articles, body
    return _made(req, await services.workflows.grouping_changes.split_story(req.route_params["event_id"], leaving, by))


@grouping_http.post(
    "stories/{event_id}/join", VIEW, body=StoryPair, returns=MADE, problems={409: "Both are one story."}
)
async def join_stories(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say that two stories are one."""
    body = sent(req, StoryPair)
    other, by = body.story, body
    changes = services.workflows.grouping_changes
    return _made(req, await changes.relate_stories("ONE_STORY", req.route_params["event_id"], other, by))


@grouping_http.post(
    "stories/{event_id}/keep-apart", VIEW, body=StoryPair, returns=MADE, problems={409: "Both are one story."}
)
async def keep_stories_apart(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say that two stories are not one."""
    body = sent(req, StoryPair)
    other, by = body.story, body
    changes = services.workflows.grouping_changes
    return _made(req, await changes.relate_stories("NOT_ONE_STORY", req.route_params["event_id"], other, by))


@grouping_http.get(
    "corrections",
    STATE,
    VIEW,
    *PAGE,
    returns=a_list("GroupingCorrections", GroupingCorrectionResource),
    is_management=True,
)
async def list_grouping_corrections(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """List the corrections of articles and stories.

    Those of the latest days first.
    """
    page, view = await services.stories.corrections.page(STATE.of(req), *page_of(req)), VIEW.of(req)
    return resources_response(page, lambda each: GroupingCorrectionResource.of(each, view))


@grouping_http.get("corrections/{correction_id}", VIEW, returns=GroupingCorrectionResource, is_management=True)
async def get_grouping_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Get a correction of articles or stories."""
    found = await services.stories.corrections.get(req.route_params["correction_id"])
    return json_response(GroupingCorrectionResource.of(found, VIEW.of(req)).shown())


@grouping_http.post(
    "corrections/{correction_id}/undo",
    VIEW,
    body=SignedBody,
    returns=ok(GroupingCorrectionResource, "Undone."),
    problems={409: "One of the two articles was deleted."},
)
async def undo_grouping_correction(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Undo a correction of articles or stories.

    What would be without it comes back. Undoing again changes nothing.
    """
    by = sent(req, SignedBody)
    undone = await services.workflows.grouping_changes.undo(req.route_params["correction_id"], by)
    return json_response(GroupingCorrectionResource.of(undone, VIEW.of(req)).shown())


@grouping_http.get("articles/{article_id}/ledger", returns=LedgerEntry)
async def get_article_ledger(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say why an article is put together as it is."""
    article = await services.articles.get(req.route_params["article_id"])
    return json_response(await services.stories.ledger.of_article(article))


@grouping_http.get("stories/{event_id}/ledger", *PAGE, returns=a_list("Ledger", LedgerEntry))
async def get_story_ledger(services: Container, req: func.HttpRequest) -> func.HttpResponse:
    """Say why each article is in a story, by publication."""
    event_id = req.route_params["event_id"]
    limit, cursor = page_of(req)
    page = await services.stories.ledger.of_story(event_id, limit, cursor)
    if not page.items and cursor is None:
        raise NotFound(f"story: there is none with the id {event_id[:200]!r}")
    return list_response(page.items, page.next, page.unreadable)


def _made(req: func.HttpRequest, correction: GroupingCorrection) -> func.HttpResponse:
    resource = GroupingCorrectionResource.of(correction, VIEW.of(req))
    return json_response(resource.shown(), 201, {"Location": resource.links["self"]})
