"""``review``: looking after watched claims, for a person or a cron line."""

import asyncio
import os
from typing import Annotated, Any

import typer

from workbench.cli.common import (
    AsJson,
    IsolationLevel,
    at_terminal,
    command,
    echo,
    emit_json,
    open_store,
    run_names,
    say,
    unlisted,
)
from workbench.cli.run.run_options import Yes
from workbench.cli.signals import stop_signals
from workbench.engine.record.progress import print_progress
from workbench.engine.settings_file import review_defaults
from workbench.errors import DONE, STOPPED, UsageError
from workbench.formatting import percent
from workbench.reports.note_page import write_report
from workbench.reviews.claim_review import ALERT, Doors, ReviewRequest, mark_told
from workbench.reviews.claim_review import review as review_claims
from workbench.reviews.notification import notify as send
from workbench.reviews.notification import notify_command
from workbench.views.run_changes import change_lines

#: Something moved, or a day is near.
MOVED = 10


@command
def review(
    run: Annotated[
        str | None,
        typer.Argument(
            help="The claim of this run alone; all with the tag watch without.", autocompletion=run_names
        ),
    ] = None,
    due: Annotated[bool, typer.Option("--due", help="Only claims whose next review has come.")] = False,
    changed: Annotated[
        bool,
        typer.Option(
            "--changed", help="Only say what changed behind them: no run is opened, no model asked."
        ),
    ] = False,
    budget_usd: Annotated[
        float | None, typer.Option("--budget-usd", min=0.0, help="What all of it may cost; nothing without.")
    ] = None,
    alert: Annotated[
        str | None,
        unlisted(
            "--alert",
            metavar="POINTS",
            help="Points that a claim moves before you are told, such as 5.",
        ),
    ] = None,
    notify: Annotated[
        str | None,
        typer.Option(
            "--notify", help="Command that gets the result as JSON on stdin when there is something to tell."
        ),
    ] = None,
    cutoff: Annotated[str, unlisted("--cutoff", help="As of when.")] = "now",
    yes: Yes = False,
    isolation: IsolationLevel = None,
    as_json: AsJson = False,
) -> None:
    """Look after the claims with the tag watch: what their data say now, evidence again where they changed, and how the answer moved.

    Each review is a run of its own that names the one before; a driver whose data say the same carries over. Exit 10: one moved by more
    than --alert, or its day is near; for a cron line with --notify, or [review] in your own workbench.toml.
    """
    own = review_defaults()
    listener = notify if notify is not None else own.get("notify")
    receiver = None if listener is None else notify_command(listener)
    points = _alert_points(alert) if alert is not None else own.get("alert", ALERT)
    doors = Doors(
        environ=os.environ,
        isolation=isolation,
        listener=print_progress,
        note=write_report,
        say=say,
        agrees=lambda line: yes or _agrees(line),
    )
    request = ReviewRequest(
        run=run, only_due=due, only_look=changed, cutoff=cutoff, budget_usd=budget_usd, alert=points
    )
    store = open_store()
    try:
        document = asyncio.run(_until_stopped(review_claims(store, request, doors)))
    except (KeyboardInterrupt, asyncio.CancelledError):
        say("workbench: stopped by hand; `workbench review` goes on where it was, and pays for nothing twice")
        raise typer.Exit(STOPPED) from None
    failed = max((row["exit"] for row in document["claims"]), default=DONE)
    code = failed or (MOVED if document["moved"] or document["due"] else DONE)
    if as_json:
        emit_json(document)
    else:
        _print_reviews(document)
    if receiver is None or code == DONE or send(receiver, {**document, "exit": code}, aside=as_json):
        mark_told(store, document)
    if code != DONE:
        raise typer.Exit(code)


async def _until_stopped(work: Any) -> dict[str, Any]:
    task, loop = asyncio.ensure_future(work), asyncio.get_running_loop()
    for number in stop_signals():
        loop.add_signal_handler(number, task.cancel)
    document: dict[str, Any] = await task
    return document


def _alert_points(text: str) -> float:
    try:
        points = float(text.strip().lower().removesuffix("points").removesuffix("pp").removesuffix("%"))
    except ValueError:
        points = -1.0
    if not 0 <= points <= 100:
        raise UsageError(f"--alert is points from 0 to 100, such as 5, not {text!r:.40}")
    return points / 100


def _agrees(line: str) -> bool:
    return at_terminal() and typer.confirm(f"{line}. Collect it?", err=True)


def _print_reviews(document: dict[str, Any]) -> None:
    if not document["claims"]:
        say(
            "no claim is looked after: `workbench note RUN --tag watch` makes it so, or the star on the first page"
        )
    for row in document["claims"]:
        left = row["days_left"]
        days = "" if left is None else f", {left} days left" if left >= 0 else ", its day is over"
        p = (
            percent(row["after"])
            if row["after"] == row["before"]
            else f"{percent(row['before'])} to {percent(row['after'])}"
        )
        mark = "!" if row["moved"] or row["near"] else " "
        echo(f"{mark} {p}  {row['statement']}  ({row['run']}{days})")
        echo("    " + "; ".join([row["words"], *([f"run {row['review']}"] if row["review"] else [])]))
        if row["changes"]:
            echo("\n".join(f"    {line}" for line in change_lines(row["changes"])[1:]))
        else:
            for node, leaf in row["leaves"].items():
                if leaf["changed"]:
                    echo(f"    {node}  {leaf['reason']}")
        if row["releases"]:
            name, day = min(row["releases"].items(), key=lambda item: item[1])
            echo(f"    next rows expected by {day}: {name}")
