"""The full text behind an article, and its files, as the API shows them."""

from __future__ import annotations

from typing import Self

from pydantic import Field

from models.document import (
    DocumentProduct,
    Eligibility,
    FileObject,
)
from models.resources.base import PARTS_LEFT_OUT, Stored, View, added, links, path
from models.resources.runs import AttemptResource


class FileResource(Stored):
    """One file of a full text. Its place in the archive is not shown."""

    DOCUMENTS = (FileObject,)

    links: dict[str, str] = Field(description="Paths: the article, and the run that made the file.")

    @classmethod
    def of(cls, file: FileObject, view: View = "default") -> Self:
        article, run = path("articles", file.source_id), path("runs", file.created_by.job_run_id)
        return cls.made(file, view, links=links(article=article, run=run))


class DocumentResource(Stored):
    """The state of the full text behind an article."""

    DOCUMENTS = (DocumentProduct,)

    data_product_id: str = Field(description="The document's own id, a UUID that follows from the article.")
    eligibility: Eligibility = Field(description="`ACQUIRE` while the document is to be tried, else `NONE`.")
    links: dict[str, str] = Field(description="Paths: the document itself, the article, the feed.")
    files: list[FileResource] | None = added("The files in the archive.")
    attempts: list[AttemptResource] | None = added("The last 50 tries.")
    unreadable: list[str] | None = PARTS_LEFT_OUT

    @classmethod
    def of(cls, document: DocumentProduct, view: View = "default") -> Self:
        article = path("articles", document.source_id)
        return cls.made(
            document,
            view,
            data_product_id=document.data_product_id,
            eligibility=document.eligibility,
            links=links(self=f"{article}/document", article=article, feed=path("feeds", document.provider)),
        )
