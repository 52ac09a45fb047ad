"""Ends with 0 if the app at a URL is ready, else with 1 and its answer: the health check of a container.

    python -m scripts.health URL

Standard library only, and nothing of the app: it runs every half minute.
"""

from __future__ import annotations

import http.client
import sys
from urllib.parse import urlsplit

PATH = "/api/v1/health"
_SECONDS = 8


def main(arguments: list[str]) -> int:
    url = urlsplit(arguments[0] if arguments else "http://127.0.0.1:7071")
    connection = http.client.HTTPConnection(url.hostname or "", url.port, timeout=_SECONDS)
    try:
        connection.request("GET", PATH)
        answer = connection.getresponse()
        text = answer.read(2000).decode("utf-8", "replace")
    except (OSError, http.client.HTTPException) as error:
        print(f"no answer from {url.geturl()}: {error}")
        return 1
    print(text)
    return 0 if answer.status == http.client.OK else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
