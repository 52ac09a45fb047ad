"""The same rounds as benchmarks/ingest.py with lemon24/reader, run by a Python that has it: imports nothing of ours.

`ingest_reader.py URL FOLDER WORKERS FEEDS`.
"""

import importlib
import json
import resource
import sys
import time
from urllib.request import urlopen

make_reader = importlib.import_module("reader").make_reader

ROUNDS = (("cold", "base", 1), ("304", "base", 1), ("same body", "base", 0), ("3 new each", "full", 0))


def main(url: str, folder: str, workers: int, feeds: int) -> None:
    reader = make_reader(f"{folder}/reader-{workers}.sqlite")
    for number in range(feeds):
        host = f"127.0.0.{1 + number % 200}"
        reader.add_feed(f"{url.replace('127.0.0.1', host)}/feed-{number:04}.xml")
    measured = []
    for label, corpus, validators in ROUNDS:
        urlopen(f"{url}/serve/{corpus}/{validators}").read()
        before, cpu = time.perf_counter(), time.process_time()
        updated = [each.value for each in reader.update_feeds_iter(workers=workers, scheduled=False)]
        seconds, cpu = time.perf_counter() - before, time.process_time() - cpu
        failed = [each for each in updated if isinstance(each, Exception)]
        assert not failed, failed[:3]
        new = sum(each.new + each.modified for each in updated if each is not None)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        measured.append({"round": label, "seconds": seconds, "cpu": cpu, "articles": new, "memory": memory})
    print(json.dumps(measured))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
