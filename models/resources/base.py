"""The base of all resources: how one is made from a stored document, its two views, and its links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, Self, get_args
from urllib.parse import quote

from pydantic import BaseModel, ConfigDict, Field
from pydantic.fields import FieldInfo

from models.values import INTERNAL, Time, UnixSeconds, Value, internal

View = Literal["default", "full"]
VIEWS: tuple[View, ...] = get_args(View)
ROOT = "/api/v1"


_PLAIN = re.compile(r"[A-Za-z0-9._~:-]*").fullmatch
"""A part that needs no quoting, as most ids: this is quicker than to quote it."""


def _mark_added(schema: dict[str, Any]) -> None:
    """It is absent elsewhere, and null only where the type says so."""
    del schema["default"]
    schema["x-added"] = True


def added(description: str) -> Any:
    """A field that some answers have and others leave out."""
    return Field(default=None, description=description, json_schema_extra=_mark_added)


PARTS_LEFT_OUT = added("The ids of parts that cannot be read and were left out; absent if there are none.")


def path(*parts: str) -> str:
    """The absolute path of an endpoint. Ids may have characters that a path must not have."""
    text = ROOT
    for part in parts:
        text += "/" + (part if _PLAIN(part) else quote(part, safe=":"))
    return text


def links(**paths: str | None) -> dict[str, str]:
    """Without those that lead nowhere."""
    return {name: each for name, each in paths.items() if each is not None}


class Shape(BaseModel):
    """A resource or a part of one.

    It is made from documents that were checked when they were read, and is not checked again: a list has 500 of them.
    Fields that were not set are absent from the JSON.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, protected_namespaces=())

    @classmethod
    def shaped(cls, values: Mapping[str, Any]) -> Self:
        """The shape with these values. `model_construct` would set all other fields to their defaults."""
        shape = cls.__new__(cls)
        object.__setattr__(shape, "__dict__", dict(values))
        object.__setattr__(shape, "__pydantic_fields_set__", set(values))
        object.__setattr__(shape, "__pydantic_extra__", None)
        object.__setattr__(shape, "__pydantic_private__", None)
        return shape

    def shown(self) -> dict[str, Any]:
        """As JSON."""
        return self.model_dump(mode="json")


class Page(Shape):
    """A page of a list."""

    items: tuple[Any, ...] = Field(description="The items of this page.")
    next: str | None = Field(description="The `cursor` of the next page; null on the last one.")
    unreadable: tuple[str, ...] = added(
        "The ids of documents that break the rules of this version and were left out; absent without any."
    )


class CollectionsResource(Shape):
    """The endpoints that a request without an id can read."""

    version: str = Field(description="The version of the app.")
    links: dict[str, str] = Field(description="The paths, by name.")


class Problem(Shape):
    """An error, as of RFC 9457."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "type": "about:blank",
                "title": "Invalid input",
                "status": 400,
                "detail": "limit: a whole number from 1 to 500, not '0'",
                "field": "limit",
                "allowed": "a whole number from 1 to 500, not '0'",
            }
        }
    )

    type: Literal["about:blank"] = Field(description="The status says what kind of error it is.")
    title: str = Field(description="The kind of error.")
    status: int = Field(description="The status of the response.")
    detail: str = Field(description="What is wrong, in words.")
    field: str = added("The field or parameter that breaks a rule.")
    allowed: str = added("What is allowed there.")
    correlation_id: str = added("The log has the traceback under this id.")
    kind: str = added("The kind of a stored document that cannot be read.")
    key: str = added("Its key.")


class Resource(Shape):
    """One kind of resource. It has the fields of `DOCUMENTS` that have a description, and its own, which are computed.
    They have the names of the stored ones, but those in `STORED_AS`. Some take `ONLY` these."""

    DOCUMENTS: ClassVar[tuple[type[Value], ...]] = ()
    ONLY: ClassVar[tuple[str, ...]] = ()
    STORED_AS: ClassVar[Mapping[str, str]] = {}

    @classmethod
    def __pydantic_init_subclass__(cls, **config: Any) -> None:
        super().__pydantic_init_subclass__(**config)
        shown_as = {stored: name for name, stored in cls.STORED_AS.items()}
        taken = {
            shown_as.get(name, name): _taken(field)
            for document in cls.DOCUMENTS
            for name, field in document.model_fields.items()
            if field.description is not None and (not cls.ONLY or name in cls.ONLY)
        }
        cls.__pydantic_fields__ = {**taken, **cls.__pydantic_fields__}

    @classmethod
    def stored_name(cls, name: str) -> str:
        """The name of the field in the document."""
        return cls.STORED_AS.get(name, name)

    @classmethod
    def fields_of(cls, view: View = "default") -> tuple[str, ...]:
        """The fields that this view always has."""
        return _names(cls, view)

    @classmethod
    def made(cls, document: BaseModel, view: View, /, **computed: Any) -> Self:
        """The resource with the fields of this view: those in `computed`, and the others from the document."""
        values = document.__dict__
        shape = {name: computed[name] if name in computed else values[stored] for name, stored in _stored_as(cls, view)}
        return cls.shaped(shape)

    def with_added(self, **values: Any) -> Self:
        """The resource with fields that this endpoint adds."""
        return self.shaped({**self.__dict__, **values})


class Stored(Resource):
    """The resource of a stored document. Its fields here come after its own ones, of which ids are the first."""

    created_at: Time = Field(description="When it was first stored.")
    updated_at: Time = Field(description="When the stored document last changed.")
    entity_type: str | None = internal("The kind of stored document.")
    schema_version: str | None = internal("The version of its stored form.")
    ttl_timestamp: UnixSeconds | None = internal("When the store deletes it, in Unix seconds; null: never.")


def _taken(field: FieldInfo) -> FieldInfo:
    """The field of a document as its resource declares it: a view either has it or not, so it has no default."""
    kind: Any = Annotated[field.annotation, *field.metadata, Field()]
    if field.json_schema_extra == INTERNAL:
        return FieldInfo.from_annotated_attribute(kind | None, internal(str(field.description)))
    return FieldInfo.from_annotated_attribute(kind, Field(description=field.description))


@lru_cache(maxsize=256)
def _names(cls: type[Resource], view: View) -> tuple[str, ...]:
    left_out = [_mark_added] if view == "full" else [_mark_added, INTERNAL]
    fields = sorted(cls.model_fields.items(), key=lambda each: (each[0] in Stored.model_fields, each[0][-3:] != "_id"))
    return tuple(name for name, field in fields if field.json_schema_extra not in left_out)


@lru_cache(maxsize=256)
def _stored_as(cls: type[Resource], view: View) -> tuple[tuple[str, str], ...]:
    return tuple((name, cls.stored_name(name)) for name in _names(cls, view))
