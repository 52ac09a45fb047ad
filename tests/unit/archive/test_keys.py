"""Names of folders and objects follow from the article and the bytes, and lead back to the article."""

from services.archive.keys import checked_key, folder_of, key_of, source_of

ARTICLE = "dedup:0123456789abcdef0123456789abcdef"


def test_an_object_is_named_by_day_article_and_checksum() -> None:
    folder = folder_of(ARTICLE, "2026-02-21")
    assert (folder, source_of(folder)) == ("2026-02-21/0123456789abcdef0123456789abcdef", ARTICLE)
    key = f"{folder}/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert key_of(folder, b"") == checked_key(key) == key
