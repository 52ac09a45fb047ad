"""The queues as Azure Queue Storage's REST interface, so that the app looks at them through its SDK as everywhere.

The subset that apps need of azure-storage-queue. Signatures are not checked: only this machine reaches it (web.py).
Metadata, updates of messages, service properties, access policies and shared access signatures are not there.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import Any
from urllib.parse import parse_qsl
from xml.etree import ElementTree
from xml.sax.saxutils import escape

from aiohttp import web

from . import Refused
from .queues import (
    MESSAGE_BYTES,
    NEVER,
    WEEK,
    Message,
    NoSuchMessage,
    NoSuchQueue,
    Queues,
    WrongReceipt,
    is_queue_name,
)

ACCOUNT = "devstoreaccount1"
# The published key of Azurite and the old emulator.
_KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
_VERSION = "2024-11-04"
# A text that doubles in escaping, and its wrapping.
_BODY_BYTES = 8 * MESSAGE_BYTES
_STATUS = {
    "QueueNotFound": 404, "MessageNotFound": 404, "PopReceiptMismatch": 400, "OutOfRangeQueryParameterValue": 400,
    "InvalidQueryParameterValue": 400, "InvalidXmlDocument": 400, "InvalidResourceName": 400, "OutOfRangeInput": 400,
    "RequestBodyTooLarge": 413, "UnsupportedHttpVerb": 405, "NotImplemented": 501, "ServerBusy": 503,
}  # fmt: skip

_CODE = {NoSuchQueue: "QueueNotFound", NoSuchMessage: "MessageNotFound", WrongReceipt: "PopReceiptMismatch"}


def connection_string(origin: str) -> str:
    """The value of AzureWebJobsStorage for an origin such as http://127.0.0.1:7071."""
    return f"DefaultEndpointsProtocol=http;AccountName={ACCOUNT};AccountKey={_KEY};QueueEndpoint={origin}/{ACCOUNT};"


class _Fault(Exception):
    """An error code of Storage."""


class StorageRest:
    """Answers requests below /devstoreaccount1."""

    def __init__(self, queues: Queues, clock: Callable[[], float]) -> None:
        self._queues = queues
        self._clock = clock

    async def handle(self, request: web.BaseRequest) -> web.Response:
        body = await request.read()
        path = request.rel_url.path.strip("/").split("/")[1:]
        query = dict(parse_qsl(request.rel_url.raw_query_string, keep_blank_values=True))
        try:
            if len(body) > _BODY_BYTES:
                raise _Fault("RequestBodyTooLarge")
            return self._answer(request.method, path, query, body)
        except _Fault as fault:
            return self._refuse(str(fault))
        except (NoSuchQueue, NoSuchMessage, WrongReceipt) as error:
            return self._refuse(_CODE[type(error)])
        except Refused as error:  # the disk is full, for example
            return self._refuse("ServerBusy", str(error))

    def _answer(self, method: str, path: list[str], query: Mapping[str, str], body: bytes) -> web.Response:
        if path and not is_queue_name(path[0]):
            raise _Fault("InvalidResourceName")
        match [method, *path]:
            case ["GET"] if query.get("comp") == "list":
                return self._list()
            case [_, name] if "comp" not in query or (method != "PUT" and query["comp"] == "metadata"):
                return self._queue(method, name)
            case [_, name, "messages"]:
                return self._messages(method, name, query, body)
            case ["DELETE", name, "messages", id]:
                self._queues.remove(name, id, query.get("popreceipt", ""))
                return self._reply(204)
        raise _Fault("NotImplemented")

    def _list(self) -> web.Response:
        queues = "".join(f"<Queue><Name>{name}</Name></Queue>" for name in self._queues.names())
        return self._xml(f"<EnumerationResults><Queues>{queues}</Queues><NextMarker></NextMarker></EnumerationResults>")

    def _queue(self, method: str, name: str) -> web.Response:
        if method in ("GET", "HEAD"):
            self._queues.require(name)
            return self._reply(200, {"x-ms-approximate-messages-count": str(self._queues.count(name))})
        if method == "PUT":
            return self._reply(201 if self._queues.create(name) else 204)
        if method == "DELETE":
            self._queues.delete(name)
            return self._reply(204)
        raise _Fault("UnsupportedHttpVerb")

    def _messages(self, method: str, name: str, query: Mapping[str, str], body: bytes) -> web.Response:
        if method == "POST":
            lifetime = _number(query, "messagettl", int(WEEK), -1, 2**31 - 1)
            delay = _number(query, "visibilitytimeout", 0, 0, int(WEEK))
            if lifetime == 0 or 0 < lifetime <= delay:
                raise _Fault("OutOfRangeQueryParameterValue")
            message = self._queues.put(name, _text(body), delay, NEVER if lifetime < 0 else lifetime)
            return self._xml(_listed([message]), status=201)
        if method == "GET":
            count = _number(query, "numofmessages", 1, 1, 32)
            if query.get("peekonly", "").lower() == "true":
                return self._xml(_listed(self._queues.peek(name, count), with_receipt=False))
            hidden = _number(query, "visibilitytimeout", 30, 1, int(WEEK))
            return self._xml(_listed(self._queues.take(name, count, hidden)))
        raise _Fault("UnsupportedHttpVerb")

    def _refuse(self, code: str, message: str = "") -> web.Response:
        xml = f"<Error><Code>{code}</Code><Message>{escape(message or code)}</Message></Error>"
        return self._xml(xml, status=_STATUS[code], headers={"x-ms-error-code": code})

    def _xml(self, xml: str, *, status: int = 200, headers: Mapping[str, str] | None = None) -> web.Response:
        body = f'<?xml version="1.0" encoding="utf-8"?>{xml}'.encode()
        return self._reply(status, {"Content-Type": "application/xml", **(headers or {})}, body)

    def _reply(self, status: int, headers: Mapping[str, str] | None = None, body: bytes | None = None) -> web.Response:
        common = {"x-ms-request-id": str(uuid.uuid4()), "x-ms-version": _VERSION, "Date": _date(self._clock())}
        return web.Response(status=status, headers={**common, **(headers or {})}, body=body)


def _number(query: Mapping[str, str], name: str, default: int, low: int, high: int) -> int:
    text = query.get(name)
    if text is None:
        return default
    if not re.fullmatch("-?[0-9]{1,12}", text):
        raise _Fault("InvalidQueryParameterValue")
    if not low <= int(text) <= high:
        raise _Fault("OutOfRangeQueryParameterValue")
    return int(text)


def _text(body: bytes) -> str:
    """The text in <QueueMessage><MessageText>."""
    if b"<!" in body:
        raise _Fault("InvalidXmlDocument")  # no document type, hence no entities
    try:
        text = ElementTree.fromstring(body).findtext("MessageText")  # noqa: S314 (no entities, see above)
    except ElementTree.ParseError:
        raise _Fault("InvalidXmlDocument") from None
    if text is None:
        raise _Fault("InvalidXmlDocument")
    if len(text.encode()) > MESSAGE_BYTES:
        raise _Fault("RequestBodyTooLarge")
    return text


def _listed(messages: list[Message], *, with_receipt: bool = True) -> str:
    return f"<QueueMessagesList>{''.join(_described(each, with_receipt) for each in messages)}</QueueMessagesList>"


def _described(message: Message, with_receipt: bool) -> str:
    fields: dict[str, Any] = {
        "MessageId": message.id,
        "InsertionTime": _date(message.inserted),
        "ExpirationTime": _date(message.expires),
        "DequeueCount": message.dequeue_count,
        "MessageText": escape(message.text, {"\r": "&#13;"}),
    }
    if with_receipt:
        fields |= {"PopReceipt": message.receipt, "TimeNextVisible": _date(message.visible)}
    return f"<QueueMessage>{''.join(f'<{name}>{value}</{name}>' for name, value in fields.items())}</QueueMessage>"


def _date(seconds: float) -> str:
    return format_datetime(datetime.fromtimestamp(seconds, UTC), usegmt=True)
