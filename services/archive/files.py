"""The files of an article's document: bytes in the archive, and the FileObject that says where they are.

The document comes first: an object without a document counts as expired (services/operations/archive_expiry.py).
"""

from __future__ import annotations

from datetime import datetime

from models.document import CreatedBy, DocumentProduct, FileObject, FileRole
from models.errors import Damaged
from services.archive.keys import folder_of
from services.ports import Archive


async def store_file(
    archive: Archive,
    product: DocumentProduct,
    data: bytes,
    *,
    role: FileRole,
    name: str,
    content_type: str,
    created_by: CreatedBy,
    now: datetime,
) -> FileObject:
    """Stores the bytes. Returns the FileObject that the caller must write; it expires with the document.

    `product` must be stored already. The same bytes may be stored again, under another role or name too.
    """
    stored = await archive.put(folder_of(product.source_id, product.folder_day), data)
    return FileObject(
        created_at=now,
        updated_at=now,
        ttl_timestamp=product.ttl_timestamp,
        source_id=product.source_id,
        role=role,
        name=name,
        archive_container=stored.container,
        archive_key=stored.key,
        content_type=content_type,
        byte_length=stored.byte_length,
        etag=stored.etag,
        sha256=stored.sha256,
        created_by=created_by,
    )


async def read_file(archive: Archive, file: FileObject) -> bytes:
    """The bytes of the file. Raises NotFound, and Damaged if they do not fit its checksum."""
    if not file.archive_key.endswith(f"/{file.sha256}"):
        raise Damaged(f"{file.partition} / {file.id}: the key and the checksum are of different bytes")
    return await archive.get(file.archive_key)


async def delete_files(archive: Archive, product: DocumentProduct) -> int:
    """Deletes all files of the document from the archive. Returns how many objects there were."""
    return await archive.delete_folder(folder_of(product.source_id, product.folder_day))
