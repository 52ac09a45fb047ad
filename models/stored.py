"""What every stored document has, and how it becomes a model and a document again. Which store, it does not know.

A document of the next schema version is read, its unknown fields kept and written back, so that the version before a
rollback and the one after it can share a database; anything later is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Self, TypedDict

from pydantic import PrivateAttr, ValidationError

from models.errors import UnreadableDocument
from models.states import Machine
from models.values import Time, UnixSeconds, Value


class StoredFields(TypedDict, total=False):
    """The fields of every stored document, for the TypedDicts of documents that are changed without their model.

    Such a TypedDict costs nothing at run time and lets the type checker see a misspelt field. A field of `total=False`
    may be absent, as an absent field is not stored. `_etag` and `_ts` are the store's own.
    """

    id: str
    entity_type: str
    schema_version: str
    created_at: str
    updated_at: str
    ttl_timestamp: int | None
    _etag: str
    _ts: int


class StoredDocument(Value):
    """The base: common fields, keys, round trip, and changes that obey the state machines.

    A subclass names its `CONTAINER`, the container's `PARTITION_FIELD`, gives `partition` and `id`, and says in
    `COMPUTED` which properties are stored though they follow from the fields.
    """

    CONTAINER: ClassVar[str]
    PARTITION_FIELD: ClassVar[str] = "pk"
    COMPUTED: ClassVar[tuple[str, ...]] = ()
    SCHEMA_VERSION: ClassVar[int] = 1
    STATES: ClassVar[Mapping[str, Machine]] = {}

    created_at: Time
    updated_at: Time
    ttl_timestamp: UnixSeconds | None = None
    schema_version: str = "1"
    entity_type: str

    _etag: str | None = PrivateAttr(default=None)

    @property
    def partition(self) -> str:
        """The value of the partition key."""
        raise NotImplementedError

    @property
    def id(self) -> str:
        raise NotImplementedError

    @property
    def stored_etag(self) -> str | None:
        """The store's ETag of the version that was read; None for a document that was not read from a store."""
        return self._etag

    def with_etag(self, etag: str | None) -> Self:
        """This document as the version that the store has just written."""
        written = self.model_copy()
        written._etag = etag
        return written

    def to_document(self) -> dict[str, Any]:
        """As it is stored. A field that is absent is null."""
        document = {"id": self.id, self.PARTITION_FIELD: self.partition}
        document |= self.model_dump(mode="json", exclude_none=True)
        for name in self.COMPUTED:
            document[name] = getattr(self, name)
        return document

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """What `to_document` gave, read back; the store's own fields (`_etag`, `_ts`, `ttl`) do not become fields.

        Raises UnreadableDocument where a rule of its model is broken: a fault in the store, never the caller's.
        """
        try:
            return cls._read(document)
        except ValidationError as error:
            why = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
            raise cls._unreadable(document, why) from error
        except ValueError as error:
            raise cls._unreadable(document, str(error)) from error

    @classmethod
    def _unreadable(cls, document: Mapping[str, Any], why: str) -> UnreadableDocument:
        return UnreadableDocument(cls.__name__, f"{document.get(cls.PARTITION_FIELD)} / {document.get('id')}", why)

    @classmethod
    def _read(cls, document: Mapping[str, Any]) -> Self:
        cls._refuse_later_versions(document)
        dropped = {"id", "ttl", *cls.COMPUTED, *({cls.PARTITION_FIELD} - cls.model_fields.keys())}
        fields = {name: value for name, value in document.items() if name[:1] != "_" and name not in dropped}
        fields.setdefault("ttl_timestamp", None)
        read = cls.model_validate(fields)
        for name, value in (("id", read.id), (cls.PARTITION_FIELD, read.partition)):
            if document.get(name, value) != value:
                raise ValueError(f"{cls.__name__}: {name} {document[name]!r} does not fit the fields, {value!r} does")
        read._etag = document.get("_etag")
        return read

    def changed(self, now: datetime, **changes: Any) -> Self:
        """This document with `changes`, checked whole, as of `now`.

        Raises InvalidTransition where a state machine forbids the step, ValueError where a rule is broken.
        """
        unknown = changes.keys() - type(self).model_fields.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        fields = {**self.__dict__, **(self.model_extra or {}), "updated_at": now, **changes}
        self._check_steps(fields)
        after = type(self).model_validate(fields)
        after._etag = self._etag
        return after

    def stored_as(self, etag: str | None) -> Self:
        """This document with the ETag that a write of it returned."""
        stored = self.model_copy()
        stored._etag = etag
        return stored

    def _check_steps(self, after: Mapping[str, Any]) -> None:
        for field, machine in self.STATES.items():
            current, wanted = getattr(self, field), after[field]
            if wanted != current:
                machine.step(current, wanted)

    @classmethod
    def _refuse_later_versions(cls, document: Mapping[str, Any]) -> None:
        version = document.get("schema_version", "1")
        readable = [str(cls.SCHEMA_VERSION + ahead) for ahead in range(1 - cls.SCHEMA_VERSION, 2)]
        if version not in readable:
            raise ValueError(
                f"{cls.__name__}: schema_version is {version!r}, this version reads {' or '.join(readable)}: "
                "deploy the version that wrote it, or a later one"
            )

    def __eq__(self, other: object) -> bool:
        """Equal if they would be stored equal; which version was read does not count."""
        return type(self) is type(other) and self.to_document() == other.to_document()

    __hash__ = None  # type: ignore[assignment]
