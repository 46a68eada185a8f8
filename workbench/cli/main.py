"""``workbench``: the command line.

Results for machines are on stdout, progress and messages on stderr. Exit codes: 0 done, 1 our bug, 2 the caller's mistake,
3 stopped by a budget or by hand (resumable), 4 a provider failed for good (resumable), 5 no sandbox at the asked
level, 6 checked and found wanting.
"""

import os
import sys
import traceback
from functools import cache
from pathlib import Path
from typing import Any

import typer

from proxies.secret_registry import clean_log_records
from workbench.cli.common import echo, say
from workbench.cli.env_file import load_keys
from workbench.cli.lazy import Root
from workbench.cli.signals import open_closed_streams, signals_interrupt
from workbench.resources import is_resource_error, resource_line
from workbench.terminal import write_what_can_be_written
from workbench.version import __version__

app = typer.Typer(
    name="workbench",
    cls=Root,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="State a claim and a cutoff; get its drivers with their evidence, and a probability that moves when you edit them.",
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        echo(f"analyst-workbench {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line; usage errors of the options end in one line and exit code 2 too."""
    open_closed_streams()
    write_what_can_be_written((sys.stdout, sys.stderr))
    with signals_interrupt():
        try:
            _main()
        except KeyboardInterrupt:
            say("workbench: stopped by hand")
            sys.exit(3)


@cache
def _commands() -> Any:
    """Return the commands as click has them: made from seventy signatures, so once where one process runs several."""
    return typer.main.get_command(app)


_INTERRUPTED = 130  # what typer's own main makes of Ctrl-C in a command


def _main() -> None:
    clean_log_records()
    for complaint in load_keys(Path(".env"), os.environ):
        say(f"workbench: {complaint}")
    # no Python that is started from here may import from the current folder: it may be somebody else's
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        # Without standalone mode an exit code asked for by a command is what the call returns.
        code = _commands()(standalone_mode=False, prog_name="workbench") or 0
        if code == _INTERRUPTED:
            raise typer.Abort
        sys.exit(code)
    # "no" to a question, or Ctrl-C, which typer turns into this or into an exit code.
    except typer.Abort:
        say("workbench: stopped by hand")
        sys.exit(3)
    except Exception as error:
        if is_resource_error(error):
            say(f"workbench: {resource_line(error)}")
            sys.exit(3)
        # click's own errors know their exit code; anything else is our bug and keeps its traceback, which may quote a stranger
        format_message = getattr(error, "format_message", None)
        if format_message is None:
            say("".join(traceback.format_exception(error)).rstrip("\n"))
            sys.exit(1)
        line = " ".join(format_message().split())
        if line:
            say(f"workbench: {line} (see `workbench --help`)")
        sys.exit(getattr(error, "exit_code", 2))


if __name__ == "__main__":
    main()
