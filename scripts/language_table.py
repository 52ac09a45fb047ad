"""Makes services/parse/languages.bin, the table of the language detector, from the model of py3langid.

    pip install py3langid==0.4.0
    python3 -m scripts.language_table            writes the table
    python3 -m scripts.language_table --check    compares it with the stored one

py3langid's model (BSD-3-Clause) has 100,000 byte n-grams and 140 languages, and takes 80 MB of memory and numpy. The
table has the n-grams that tell the languages of news feeds apart, with weights of one byte. Neither the app nor its
tests need py3langid.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib
import json
import sys
import zlib
from collections import deque
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "services" / "parse" / "languages.bin"
VERSION = "0.4.0"
_LANGUAGES = (
    "af ar az be bg bs ca cs cy da de en eo es et eu fa fi fr ga gl hr hu id is it la lt lv mk ms nl no pl pt ro ru sk "
    "sl sq sr sv sw tl tr uk ur vi"
)
LANGUAGES = _LANGUAGES.split()
"""Languages whose script does not tell them apart. Others are in services/parse/language.py, by script."""
NGRAMS = 40_000
LONGEST = 5
STEPS = 4
"""Steps of a weight per unit of log-probability."""


def build() -> bytes:
    """The table: zlib of a line of JSON, the n-grams by length, and the weights by language."""
    np: Any = importlib.import_module("numpy")
    package: Any = importlib.import_module("py3langid.langid")
    path = Path(package.__file__).with_name("data") / "model.npz.xz"
    model = package.LanguageIdentifier.from_model_file(path)
    chosen = [model.nb_classes.index(language) for language in LANGUAGES]
    logs = np.asarray(model.nb_ptc, dtype=np.float64)[:, chosen]
    ngrams = _ngrams(model)
    usable = np.array([len(ngrams[index]) <= LONGEST for index in range(len(logs))])
    # An n-gram that is frequent in one language and rare in most others tells the most.
    telling = np.where(usable, np.exp(logs.max(1)) * (logs.max(1) - np.median(logs, axis=1)), -1)
    kept = sorted(np.argsort(-telling, kind="stable")[:NGRAMS].tolist(), key=lambda index: _key(ngrams[index]))
    weights = np.round((logs[kept] - logs[kept].mean(axis=1, keepdims=True)) * STEPS).clip(-127, 127)
    head = {
        "made_from": f"py3langid {VERSION}, BSD-3-Clause",
        "model": hashlib.sha256(path.read_bytes()).hexdigest(),
        "steps": STEPS,
        "languages": LANGUAGES,
        "lengths": [sum(len(ngrams[index]) == length for index in kept) for length in range(LONGEST + 1)],
    }
    keys = b"".join(ngrams[index] for index in kept)
    columns = (weights + 128).astype(np.uint8).T.tobytes()
    return zlib.compress(json.dumps(head).encode() + b"\n" + keys + columns, 9)


def _key(ngram: bytes) -> tuple[int, bytes]:
    return len(ngram), ngram


def _ngrams(model: Any) -> dict[int, bytes]:
    """The n-gram of each feature: the shortest path through the automaton to a state that counts it."""
    found: dict[int, bytes] = {}
    paths, waiting = {0: b""}, deque([0])
    while waiting:
        state = waiting.popleft()
        if model.tk_output[state] >= 0:
            found.setdefault(model.tk_output[state], paths[state])
        row = model.tk_row[state] * 256
        for byte in range(256):
            following = model.tk_nextmove[row + byte]
            if following not in paths:
                paths[following] = paths[state] + bytes([byte])
                waiting.append(following)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the stored table, and write nothing")
    made = build()
    if not parser.parse_args().check:
        TABLE.write_bytes(made)
        print(f"{TABLE.relative_to(ROOT)}: {len(made):,} bytes")
        return 0
    same = zlib.decompress(made) == zlib.decompress(TABLE.read_bytes())
    print("the table is up to date" if same else "the table differs from what py3langid's model gives")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
