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
from workbench.cli.answers import ANNOTATE, CRITIQUE
from workbench.cli.common import echo, say
from workbench.cli.env_file import load_keys
from workbench.cli.lazy import UNLISTED, lazy_group
from workbench.cli.science import SCIENCE
from workbench.cli.signals import open_closed_streams, signals_interrupt
from workbench.plug_points import OPERATIONS
from workbench.resources import is_resource_error, resource_line
from workbench.terminal import write_what_can_be_written
from workbench.version import __version__

# By panel of `workbench --help`, in its order.
# fmt: off
PANELS: dict[str, dict[str, tuple[str, str]]] = {
    "Ask": {
        "analyze": ("workbench.operations.analysis:Analyze", "Break a claim into drivers, collect evidence for them in sealed notebooks, and combine them into a probability."),
        "read": ("workbench.operations.claim_reading:Read", "Say what a claim is taken to mean: series, relation, level and days. No model is asked and nothing is started."),
        "claims": ("workbench.operations.claim_reading:Claims", "List what a claim may say, each example with how it is read on 2018-06-30 and who answers it."),
        "demo": ("workbench.operations.analysis:Demo", "Run the main job on the embedded data, without a key, and say what its answer turned out to be worth."),
        "quantity": ("workbench.operations.quantity:Quantity", "Forecast a series: quantiles of its value on a day, or of its highs and lows until then."),
        "resume": ("workbench.operations.analysis:Resume", "Go on with a run that was stopped; nothing that reached the ledger is asked again."),
        "watch": ("workbench.operations.run_control:Watch", "Show the progress of a run until it ends, and leave with its exit code; the run is not touched."),
        "stop": ("workbench.operations.run_control:Stop", "End the process that works on a run; the run can be resumed."),
        "approve": ("workbench.operations.run_control:Approve", "List the steps of a run that wait for approval (`analyze --approve`), each in full, or decide on one."),
        "models": ("workbench.cli.models:models", "List the models that the keys at hand reach, or try one."),
    },
    "Explore": {
        "show": ("workbench.operations.runs:Show", "Print a run's tree, with the rule of every inner driver."),
        "whatif": ("workbench.operations.what_if:WhatIf", "Edit drivers and see which ancestors move; the run itself is not changed."),
        "diff": ("workbench.operations.several_runs:Diff", "Say what changed between two runs of a claim, and how much of it each driver and the rules brought."),
        "ask": ("workbench.operations.asking:Ask", "Answer a question about a run out of its own records, with the cells and rows that the answer rests on."),
        "sensitivity": ("workbench.operations.drivers:Sensitivity", "Print what each driver does to the claim: its path weight, the claim's range, its contribution."),
        "scenarios": ("workbench.operations.scenarios:Scenarios", "Put the saved what-ifs side by side, with their probability-weighted mix; change, copy or close one."),
        "noise": ("workbench.operations.drivers:Noise", "Disturb the drivers and print the claim's distribution; no model is asked (paper A, section 5.3)."),
        "refit": ("workbench.operations.drivers:Refit", "Ask the synthesizer again K times per inner driver and print how far its weights spread and change sign."),
        "reground": ("workbench.operations.analysis:Reground", "Collect evidence for one driver again, in a new attempt; its price is said first, and what it concluded before stays on record."),
        "coherence": ("workbench.operations.several_runs:Coherence", "Check the claims of several runs against each other: nested and exclusive claims, repeats and contraries."),
        "decide": ("workbench.operations.decisions:Decide", "Turn the claims of runs into the probabilities of exclusive options and name the one to take."),
        "serve": ("workbench.cli.servers.serve:serve", "Show a run in the browser: tree, what-if and proof notebooks. Ctrl-C ends it."),
        "lab": ("workbench.cli.servers.lab:lab", "Start JupyterLab in the data folder's notebooks (the tutorials lie there), with cards for a claim and the newest run."),
    },
    "Trust": {
        "evidence": ("workbench.operations.evidence:Evidence", "Show what a driver rests on: which cell printed each number of its report, and what each cell asked and got."),
        "transcript": ("workbench.operations.checks:Transcript", "Print every model call of a run or driver: what was sent, thoughts and reply, tokens, price, time."),
        "audit": ("workbench.operations.checks:Audit", "Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost."),
        "verify": ("workbench.operations.checks:Verify", "Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline."),
        "annotate": ("workbench.cli.answers:annotate_group", "What people say of a run: comments, estimates, notes, tags, sign-offs, and how the claim turned out."),
        "critique": ("workbench.cli.answers:critique_group", "What other models and the records say of a finished run."),
    },
    "Share": {
        "export": ("workbench.operations.packages:Export", "Write the note of a run (html, pdf, docx, md), the whole package a reviewer needs (zip), or another program's format."),
        "import": ("workbench.operations.packages:Import", "Take in an exported run or a tree; it becomes a run of this home, marked as imported."),
        "keys": ("workbench.cli.answers:keys_group", "The key that signs your packages, and whose keys you trust by name."),
    },
    "Track": {
        "runs": ("workbench.operations.runs:Runs", "List the runs of this home, the newest last: state, p with its change, outcome, Brier score, age, next review."),
        "review": ("workbench.operations.claim_review:Review", "Look after the claims with the tag watch: what their data say now, evidence again where they changed, and how the answer moved."),
        "questions": ("workbench.cli.questions:questions", "Sets of questions: imported, fetched from venues, listed, resolved, scored."),
        "forecast": ("workbench.operations.forecasting:Forecast", "Forecast questions again, with the rules of their set's last round and no trees; an unfinished round is finished first."),
        "tournament": ("workbench.cli.tournament:tournament", "A round over many open questions: triage, quick pass, trees for a few, coherence, a page."),
        "submit": ("workbench.operations.bets:Submit", "Write forecasts of a set as a tournament takes them, checked field by field; uploading is yours."),
        "science": ("workbench.cli.science:science_group", "Scores, comparisons, calibration and exams over files of forecasts."),
    },
    "Research": {
        "experiment": ("workbench.cli.experiment:experiment", "Studies: arms x exam x trials x seeds."),
        "backtest": ("workbench.operations.backtest:Backtest", "Forecast claims at past cutoffs with what was known there, and score them against the base rate."),
        "source": ("workbench.cli.sources:source", "Data of your own: files, tables and queries, dated by a policy that you name."),
        "apis": ("workbench.operations.endpoints:Apis", "List the endpoints, or what answers some words: endpoints, series, sources to search in; usable ones first."),
        "api-doc": ("workbench.operations.endpoints:ApiDoc", "Print the documentation of endpoints, with an example that runs."),
        "call": ("workbench.operations.endpoints:Call", "Make one call through the broker and print its data and what was done to keep the cutoff."),
        "search": ("workbench.operations.web:Search", "Search the web as of a cutoff."),
        "page": ("workbench.operations.web:Page", "Read a page as it stood before a cutoff: a revision, or the archive's copy; with a model a long one is summed up."),
    },
    "Admin": {
        "doctor": ("workbench.operations.doctor:Doctor", "Say which isolation level works and what refuses a better one, which keys are set, versions and files."),
        "rm": ("workbench.operations.runs:Remove", "Remove a run: its log, its ledgers, its notebooks, and every body that no other run names. There is no way back."),
        "gc": ("workbench.operations.runs:Collect", "Remove what no run needs: bodies that nothing names, half-written files; and give the space back to the disk."),
        "mcp": ("workbench.cli.servers.mcp:mcp", "Serve dated data and analyses to an agent of another program, over stdio or HTTP (docs/mcp.md)."),
        "docs": ("workbench.cli.servers.manual_server:docs", "Show the manual in the browser, or put it into a folder; it is built once per version. Ctrl-C ends it."),
        "help": ("workbench.cli.full_help:full_help", "Everything a command takes: all options, and the settings that --set reaches; `help glossary`: what the words mean."),
    },
    # Names from before the groups; they work, and are not listed.
    UNLISTED: {**ANNOTATE, **CRITIQUE, **SCIENCE},
}
# fmt: on
COMMANDS: dict[str, tuple[str, str]] = {
    name: line for table in PANELS.values() for name, line in table.items()
}

app = typer.Typer(
    name="workbench",
    cls=lazy_group(COMMANDS, PANELS, plugins=OPERATIONS),
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
