"""``workbench``: the command line.

Results for machines are on stdout, progress and messages on stderr. Exit codes: 0 done, 1 our bug, 2 the caller's mistake,
3 stopped by a budget or by hand (resumable), 4 a provider failed for good (resumable), 5 no sandbox at the asked
level, 6 checked and found wanting.
"""

import os
import sys
from pathlib import Path

import typer

from workbench.cli import data, decide, doctor, reasoning, runs, science, screens
from workbench.cli.common import say
from workbench.cli.env_file import load_keys
from workbench.cli.keys import keys
from workbench.version import __version__

app = typer.Typer(
    name="workbench",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="State a claim and a knowledge cutoff; get a tree of propositions, a proof notebook per leaf, and a root that moves.",
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        typer.echo(f"analyst-workbench {__version__}")
        raise typer.Exit


for group in (runs, reasoning, decide, data, screens, science, doctor):
    group.register(app)
app.add_typer(keys, name="keys")


def main() -> None:
    """Run the command line; usage errors of the options end in one line and exit code 2 too."""
    for complaint in load_keys(Path(".env"), os.environ):
        say(f"workbench: {complaint}")
    try:
        # Without standalone mode an exit code asked for by a command is what the call returns.
        sys.exit(app(standalone_mode=False) or 0)
    except typer.Abort:
        sys.exit(3)
    except Exception as error:
        # click's own errors know their exit code; anything else is our bug and keeps its traceback.
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            raise
        line = " ".join(format_message().split())
        if line:
            sys.stderr.write(f"workbench: {line} (see `workbench --help`)\n")
        sys.exit(getattr(error, "exit_code", 2))


if __name__ == "__main__":
    main()
