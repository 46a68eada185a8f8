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

from workbench.cli import science
from workbench.cli.analyze import AnalyzeCommand, analyze
from workbench.cli.annotate import comment, note, resolve, sign_off
from workbench.cli.apis import api_doc, apis
from workbench.cli.approve import approve
from workbench.cli.audit import audit
from workbench.cli.call import call
from workbench.cli.coherence import coherence
from workbench.cli.common import echo, say
from workbench.cli.decide import decide
from workbench.cli.demo import demo
from workbench.cli.doctor import doctor
from workbench.cli.env_file import load_keys
from workbench.cli.evidence import evidence
from workbench.cli.experiment import experiment
from workbench.cli.export import export, import_file
from workbench.cli.judge import grounders, judge, leaks
from workbench.cli.keys import keys
from workbench.cli.lab import lab
from workbench.cli.mcp import mcp
from workbench.cli.models import models
from workbench.cli.noise import noise
from workbench.cli.questions import questions, submit
from workbench.cli.redteam import redteam
from workbench.cli.refit import refit
from workbench.cli.reground import reground
from workbench.cli.resume import resume
from workbench.cli.rm import gc, rm
from workbench.cli.runs import list_runs
from workbench.cli.scenarios import scenarios
from workbench.cli.search import page, search
from workbench.cli.sensitivity import sensitivity
from workbench.cli.serve import serve
from workbench.cli.show import show
from workbench.cli.signals import signals_interrupt
from workbench.cli.streams import open_closed_streams
from workbench.cli.tournament import forecast, tournament
from workbench.cli.verify import verify
from workbench.cli.watch import stop, watch
from workbench.cli.whatif import whatif
from workbench.cli.workers import workers
from workbench.resources import is_resource_error, resource_line
from workbench.version import __version__

app = typer.Typer(
    name="workbench",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="State a claim and a knowledge cutoff; get a tree of propositions, a proof notebook per leaf, and a root that moves.",
)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.")) -> None:
    if version:
        echo(f"analyst-workbench {__version__}")
        raise typer.Exit


# In the order of `workbench --help`: making runs, asking them, taking them elsewhere, data, screens, the rest.
app.command(cls=AnalyzeCommand)(analyze)
app.command()(resume)
app.command()(reground)
app.command()(watch)
app.command()(stop)
app.command()(approve)
app.command("runs")(list_runs)
app.command()(rm)
app.command()(gc)
app.command()(show)
app.command()(demo)
app.command()(whatif)
app.command()(sensitivity)
app.command()(scenarios)
app.command()(coherence)
app.command()(grounders)
app.command()(judge)
app.command()(leaks)
app.command()(refit)
app.command()(redteam)
app.command()(noise)
app.command()(evidence)
app.command()(audit)
app.command()(verify)
app.command()(resolve)
app.command()(comment)
app.command()(note)
app.command("sign-off")(sign_off)
app.command("export")(export)
app.command("import")(import_file)
app.add_typer(keys, name="keys")
app.command()(decide)
app.command()(apis)
app.command("api-doc")(api_doc)
app.command()(call)
app.command()(search)
app.command()(page)
app.command()(serve)
app.command()(lab)
app.add_typer(questions, name="questions")
app.add_typer(experiment, name="experiment")
app.add_typer(tournament, name="tournament")
app.command()(forecast)
app.command()(mcp)
app.command()(submit)
science.register(app)
app.add_typer(models, name="models")
app.add_typer(workers, name="workers")
app.command()(doctor)


def main() -> None:
    """Run the command line; usage errors of the options end in one line and exit code 2 too."""
    open_closed_streams()
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
