"""Articles over HTTP: lists by what they have in common, one with what each source said, and deleting one."""

import azure.functions as func

from services import container
from services.articles.reading import LAYERS, ArticleFilter, article_filter
from services.workflows import deletion
from triggers.access import MANAGE, READ, require_management
from triggers.http_codec import answering, choice, json_answer, left_out, no_content, page_answer, page_of, query_of

articles_http = func.Blueprint()


@articles_http.route(route="v1/articles", methods=["GET"], auth_level=READ)
@answering
async def list_articles(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    names = ArticleFilter.names()
    given = query_of(req, *names, "limit", "cursor")
    wanted = article_filter({name: given[name] for name in names if name in given}, services.clock())
    return page_answer(await services.articles.page(wanted, *page_of(req)))


@articles_http.route(route="v1/articles/{article_id}", methods=["GET"], auth_level=READ)
@answering
async def get_article(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    query_of(req, "layer")
    layer = choice(req, "layer", "canonical", LAYERS)
    article = await services.articles.get(req.route_params["article_id"])
    body = article.shown()
    if layer == "raw":
        observations = await services.articles.observations(article)
        body |= {"observations": [each.shown() for each in observations.items], **left_out(observations.unreadable)}
    return json_answer(body)


@articles_http.route(route="v1/articles/{article_id}", methods=["DELETE"], auth_level=MANAGE)
@answering
async def delete_article(req: func.HttpRequest) -> func.HttpResponse:
    services = await container.get()
    require_management(req, services.settings.management_key)
    query_of(req)
    await deletion.delete_article(services.articles, services.workflows, req.route_params["article_id"])
    return no_content()
