"""What every benchmark's command line has: ``--smoke`` shows in seconds that it still runs; a test calls all of them so."""

import argparse
from typing import Any


def parse(parser: argparse.ArgumentParser, **smoke: Any) -> argparse.Namespace:
    """Read the command line; under ``--smoke`` the options named here take these values instead.

    A smoke run is one round of the least size. Its figures say nothing about speed.
    """
    parser.add_argument(
        "--smoke", action="store_true", help="one round, the least sizes: whether it runs at all"
    )
    options = parser.parse_args()
    if options.smoke:
        vars(options).update(smoke)
    return options
