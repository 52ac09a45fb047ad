"""The documents of an entry."""

from models.locator import LocatorAlias, SeenHash
from services.articles.entry_documents import alias, seen_hash
from tests.unit.articles.builders import NOW, attempt, candidate, source


def test_locator_and_hash_are_read_by_their_models() -> None:
    each = candidate(of=source("a"))
    stored = alias(each, each.source_id(), attempt(source("a")))
    assert (stored["locator"], stored["schema_version"]) == (each.locator_id, "1")
    found = LocatorAlias.from_document(stored)
    assert (found.id, found.provider, found.source_id) == (each.locator_id, "a", each.source_id())
    assert found.ttl_timestamp == int(NOW.timestamp()) + 30 * 86_400
    assert found.to_document() == stored
    stored_hash = seen_hash(each, each.source_id(), attempt(source("a")), 7 * 86_400)
    seen = SeenHash.from_document(stored_hash)
    assert (seen.to_document(), seen.source_id) == (stored_hash, each.source_id())
    assert (seen.source, seen.content_hash, seen.revision) == ("a", each.entry.content_hash, each.entry.form_hash)
    assert (seen.created_at, seen.updated_at, seen.ttl_timestamp) == (NOW, NOW, int(NOW.timestamp()) + 7 * 86_400)
