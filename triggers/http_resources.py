"""Resources in requests and responses: the view that a request asks for, and bodies that change a resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import azure.functions as func

from models.errors import InvalidInput
from models.request import Request
from models.resources.base import VIEWS, Resource
from services.ports import Listed
from triggers.http_codec import json_object, list_response
from triggers.parameters import one_of

Item = TypeVar("Item")
Sent = TypeVar("Sent", bound=Request)

VIEW = one_of("view", VIEWS, "`full`: with the fields that the app needs for its own work.", VIEWS[0])
"""Every endpoint whose answer has resources takes it."""


def resources_response(page: Listed[Item], of: Callable[[Item], Resource], **more: Any) -> func.HttpResponse:
    """A page of what is stored as a list of resources, each made by `of`."""
    return list_response([of(item).shown() for item in page.items], page.next, page.unreadable, **more)


@dataclass(frozen=True, slots=True)
class SentChange:
    """The fields of a body that changes a resource. `is_resource`: the body is a resource that was sent back, since it
    has fields that cannot be changed."""

    fields: Mapping[str, Any]
    is_resource: bool

    def differing_from(self, present: Resource) -> dict[str, Any]:
        """The fields of a resource that was sent back which have another value than the present one. What was not
        touched is not checked and does nothing, as a field that is given alone may do: the same `url` again, say."""
        shown = present.shown()
        return {name: value for name, value in self.fields.items() if name not in shown or value != shown[name]}


def sent(req: func.HttpRequest, body: type[Sent]) -> Sent:
    """The body of the request. An empty body is an empty object. Raises InvalidInput."""
    return body.checked(json_object(req))


def sent_change(req: func.HttpRequest, change: type[Request]) -> SentChange:
    """The fields to change. Those that a resource has and that cannot be changed are left out. Raises InvalidInput for
    a field that it does not have, and for a body with nothing that can be changed."""
    body = json_object(req)
    can = f"what can be changed: {', '.join(change.model_fields)}"
    others = change.CHANGES.model_fields if change.CHANGES else {}
    for name in body:
        if name not in change.model_fields and name not in others:
            raise InvalidInput(name, f"no such field; {can}")
    fields = {name: value for name, value in body.items() if name in change.model_fields}
    if body and not fields:
        raise InvalidInput(", ".join(body), f"cannot be changed; {can}")
    return SentChange(fields, len(fields) < len(body))
