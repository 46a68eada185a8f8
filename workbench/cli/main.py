"""``workbench``: the command line.

Results for machines are on stdout, progress and messages on stderr. Exit codes: 0 done, 1 our bug, 2 the caller's mistake,
3 stopped by a budget or by hand (resumable), 4 a provider failed for good (resumable), 5 no sandbox at the asked
level, 6 checked and found wanting.
"""

import os
import sys
from pathlib import Path

import typer

from workbench.cli import science
from workbench.cli.analyze import AnalyzeCommand, analyze
from workbench.cli.apis import api_doc, apis
from workbench.cli.audit import audit
from workbench.cli.call import call
from workbench.cli.coherence import coherence
from workbench.cli.common import say
from workbench.cli.decide import decide
from workbench.cli.demo import demo
from workbench.cli.doctor import doctor
from workbench.cli.env_file import load_keys
from workbench.cli.export import export, import_file
from workbench.cli.keys import keys
from workbench.cli.lab import lab
from workbench.cli.noise import noise
from workbench.cli.refit import refit
from workbench.cli.resume import resume
from workbench.cli.runs import list_runs
from workbench.cli.scenarios import scenarios
from workbench.cli.sensitivity import sensitivity
from workbench.cli.serve import serve
from workbench.cli.show import show
from workbench.cli.verify import verify
from workbench.cli.whatif import whatif
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


# In the order of `workbench --help`: making runs, asking them, taking them elsewhere, data, screens, the rest.
app.command(cls=AnalyzeCommand)(analyze)
app.command()(resume)
app.command("runs")(list_runs)
app.command()(show)
app.command()(demo)
app.command()(whatif)
app.command()(sensitivity)
app.command()(scenarios)
app.command()(coherence)
app.command()(refit)
app.command()(noise)
app.command()(audit)
app.command()(verify)
app.command("export")(export)
app.command("import")(import_file)
app.add_typer(keys, name="keys")
app.command()(decide)
app.command()(apis)
app.command("api-doc")(api_doc)
app.command()(call)
app.command()(serve)
app.command()(lab)
science.register(app)
app.command()(doctor)


def main() -> None:
    """Run the command line; usage errors of the options end in one line and exit code 2 too."""
    for complaint in load_keys(Path(".env"), os.environ):
        say(f"workbench: {complaint}")
    # no Python that is started from here may import from the current folder: it may be somebody else's
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        # Without standalone mode an exit code asked for by a command is what the call returns.
        sys.exit(app(standalone_mode=False) or 0)
    # "no" to a question, or Ctrl-C: stopped by hand.
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
