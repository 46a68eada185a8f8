"""Where the installed ``workbench`` command begins: signals first, then everything that takes time to load."""

import sys

from workbench.cli.signals import signals_interrupt


def main() -> None:
    """Run the command line; a signal while it loads ends it as cleanly as one later."""
    with signals_interrupt():
        try:
            from workbench.cli.main import main as run

            run()
        except KeyboardInterrupt:
            sys.stderr.write("workbench: stopped by hand\n")
            sys.exit(3)
