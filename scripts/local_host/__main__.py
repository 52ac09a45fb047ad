"""python -m scripts.local_host [--port N] [--data DIR] [--app DIR] [--set NAME=VALUE ...] [--once]"""

import sys
from pathlib import Path

from .command import argument_parser, command_of, main

if __name__ == "__main__":
    parser = argument_parser("local_host", "Runs an Azure Functions app on this machine, as `func start` does.", Path())
    arguments = parser.parse_args()
    del sys.path[0]  # the app's modules come from the app's folder only
    sys.exit(main(command_of(arguments)))
