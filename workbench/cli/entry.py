"""Where the installed ``workbench`` command begins: signals first, then everything that takes time to load."""

import gc
import os
import sys

from workbench.cli.signals import signals_interrupt
from workbench.version import __version__


def main() -> None:
    """Run the command line; a signal while it loads ends it as cleanly as one later."""
    # Loading makes a hundred thousand objects that stay: at the usual 700 the collector walks them over and over, a tenth of
    # what a short command takes.
    gc.set_threshold(50_000)
    # Before it checks anything pydantic reads the metadata of every installed package in search of plug-ins of its own.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    # Fits of a few parameters: a pool of BLAS threads spins for longer than it computes (a forecast took three times the processor time).
    for pool in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ.setdefault(pool, "1")
    with signals_interrupt():
        try:
            if sys.argv[1:] == ["--version"] and _print_version():
                sys.exit(0)
            from workbench.cli.main import (
                main as run,
            )  # not at the top: a signal while this loads is caught here

            run()
        except KeyboardInterrupt:
            sys.stderr.write("workbench: stopped by hand\n")
            sys.exit(3)


def _print_version() -> bool:
    """Print the version without loading more; False where there may be more to say: of a ``.env`` file, of a closed stream."""
    if os.path.lexists(".env"):
        return False
    try:
        sys.stdout.write(f"analyst-workbench {__version__}\n")
        sys.stdout.flush()
    except (OSError, AttributeError):  # the latter: no stream at all
        return False
    return True
