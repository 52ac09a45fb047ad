"""The base of all stored documents: common fields, reading and writing, and changes; and of those with a sentiment.

This version of toolpulse also reads documents of the next schema version, and keeps and writes back the fields that it
does not know. So two neighbouring versions can share a database during a roll-out or a rollback.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from models.errors import UnreadableDocument
from models.states import Machine
from models.values import Polarity, Sentiment, Share, Time, UnixSeconds, UnscoredReason, Value, agrees, optional

READABLE_VERSIONS = ("1", "2")
"""The schema version that this code writes, and the next one."""


class StoredDocument(Value):
    """One kind of document.

    A document outside of the catalog defines `CONTAINER` and its `PARTITION_FIELD`. The partition is the constant
    `PARTITION`, or the field `PARTITION_FIELD`; the id is the constant `ID`, or the field `ID_OF`. A subclass overrides
    the property if the key follows otherwise. `COMPUTED` lists the properties that are stored as fields too. `STATES`
    maps a field to the state machine that its changes must obey.
    """

    __slots__ = ("_etag",)  # to set up a private attribute of pydantic takes longer than to read a small document

    CONTAINER: ClassVar[str] = "catalog"
    PARTITION_FIELD: ClassVar[str] = "pk"
    PARTITION: ClassVar[str] = ""
    ID: ClassVar[str]
    ID_OF: ClassVar[str] = ""
    COMPUTED: ClassVar[tuple[str, ...]] = ()
    STATES: ClassVar[Mapping[str, Machine]] = {}
    HIDDEN: ClassVar[frozenset[str]] = frozenset()
    """The fields that neither the API nor an export shows."""

    created_at: Time
    updated_at: Time = Field(default_factory=lambda fields: fields["created_at"])
    ttl_timestamp: UnixSeconds | None = None
    schema_version: str = "1"
    entity_type: str

    @property
    def partition(self) -> str:
        """The value of the partition key."""
        value: str = self.PARTITION or getattr(self, self.PARTITION_FIELD)
        return value

    @property
    def id(self) -> str:
        value: str = getattr(self, self.ID_OF) if self.ID_OF else self.ID
        return value

    @property
    def stored_etag(self) -> str | None:
        """The store's ETag of the version that was read; None for a document that was not read from a store."""
        etag: str | None = getattr(self, "_etag", None)
        return etag

    def with_etag(self, etag: str | None) -> Self:
        """This document as the version that the store has just written."""
        written = self.model_copy()
        object.__setattr__(written, "_etag", etag)
        return written

    def __copy__(self) -> Self:
        copied = super().__copy__()
        object.__setattr__(copied, "_etag", self.stored_etag)
        return copied

    def to_document(self) -> dict[str, Any]:
        """The document to store. A field that is null is left out."""
        document = {"id": self.id, self.PARTITION_FIELD: self.partition}
        document |= self.model_dump(mode="json", exclude_none=True)
        for name in self.COMPUTED:
            document[name] = getattr(self, name)
        return document

    def shown(self) -> dict[str, Any]:
        """The fields as the API shows them: under their own names, absent ones as null, without the HIDDEN ones."""
        return self.model_dump(mode="json", exclude=set(self.HIDDEN))

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Self:
        """The model of a stored document. Fields that the store adds (`_etag`, `_ts`, `ttl`) do not become fields.

        Raises UnreadableDocument if the document breaks a rule of the model, has a later schema version, or is stored
        under another key than its fields give.
        """
        try:
            return cls._read(document)
        except ValidationError as error:
            why = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()[:3])
            raise cls._unreadable(document, why) from error
        except (TypeError, ValueError) as error:
            raise cls._unreadable(document, str(error)) from error

    @classmethod
    def _unreadable(cls, document: Mapping[str, Any], why: str) -> UnreadableDocument:
        return UnreadableDocument(cls.__name__, f"{document.get(cls.PARTITION_FIELD)} / {document.get('id')}", why)

    @classmethod
    def _read(cls, document: Mapping[str, Any]) -> Self:
        version = document.get("schema_version", "1")
        if version not in READABLE_VERSIONS:
            raise ValueError(
                f"schema_version is {version!r}, this version reads {' or '.join(READABLE_VERSIONS)}: "
                "deploy the version that wrote it, or a later one"
            )
        dropped = _dropped(cls)
        fields = {name: value for name, value in document.items() if name[:1] != "_" and name not in dropped}
        fields.setdefault("ttl_timestamp", None)
        read = cls.model_validate(fields)
        for name, value in (("id", read.id), (cls.PARTITION_FIELD, read.partition)):
            if document.get(name, value) != value:
                raise ValueError(f"{name} {document[name]!r} does not fit the fields, which give {value!r}")
        object.__setattr__(read, "_etag", document.get("_etag"))
        return read

    def changed(self, now: datetime, **changes: Any) -> Self:
        """This document with `changes`, validated as a whole; `now` becomes `updated_at`, and the ETag stays.

        Raises TypeError for an unknown field, InvalidTransition if a state machine forbids a change, and ValueError if
        the result breaks a rule of the model.
        """
        unknown = changes.keys() - type(self).__pydantic_fields__.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no {', '.join(sorted(unknown))}")
        fields = {**self.__dict__, **(self.__pydantic_extra__ or {}), "updated_at": now, **changes}
        self._check_steps(fields)
        after = type(self).model_validate(fields)
        object.__setattr__(after, "_etag", self.stored_etag)
        return after

    def _check_steps(self, after: Mapping[str, Any]) -> None:
        for field, machine in self.STATES.items():
            current, wanted = getattr(self, field), after[field]
            if wanted != current:
                machine.step(current, wanted)

    def __eq__(self, other: object) -> bool:
        """Equal if both would be stored as the same document; the ETag does not count."""
        return type(self) is type(other) and self.to_document() == other.to_document()

    __hash__ = None  # type: ignore[assignment]


@cache
def _dropped(cls: type[StoredDocument]) -> frozenset[str]:
    """What the store or a property adds to the fields."""
    return frozenset({"id", "ttl", *cls.COMPUTED, *({cls.PARTITION_FIELD} - cls.model_fields.keys())})


class WordsJudgement(Value):
    """A sentiment of words, or why there is none."""

    sentiment: Sentiment | None = optional(
        "`positive`, `negative` or `neutral`: the most probable of the three. Of a mention: on the sentences that name "
        "the tool, and the headline if it names the tool; on the headline alone if only tags or tickers do. Null if "
        "there is none."
    )
    score: Share | None = optional("Confidence in `sentiment`, 0 to 1: its probability; null without a sentiment.")
    polarity: Polarity | None = optional(
        "-1 (negative) to 1 (positive). Above 0 if `sentiment` is `positive`, below 0 if `negative`, exactly 0 if "
        "`neutral`; null without a sentiment."
    )
    unscored_reason: UnscoredReason | None = optional(
        "Why there is no sentiment: `LANGUAGE` if the analyzer cannot judge the language. Null if there is one, or if "
        "nothing was judged yet."
    )


class ScoredDocument(StoredDocument, WordsJudgement):
    """A document with a sentiment. `sentiment`, `score` and `polarity` are all set, or all null; only articles that the
    analysis did not write may lack the polarity alone. The score is 1 if a person has given the sentiment.
    """

    @property
    def is_scored(self) -> bool:
        return self.sentiment is not None

    @model_validator(mode="after")
    def _sentiment_fits(self) -> Self:
        if self.sentiment is None:
            if self.score is not None or self.polarity is not None:
                raise ValueError("score and polarity must be null without a sentiment")
            return self
        if self.score is None:
            raise ValueError("a sentiment must have a score")
        if self.unscored_reason is not None:
            raise ValueError("unscored_reason must be null if there is a sentiment")
        if self.polarity is not None and not agrees(self.sentiment, self.polarity):
            raise ValueError("polarity must be above 0 for positive, below 0 for negative, 0 for neutral")
        return self
