"""``resolve``, ``comment``, ``estimate``, ``note``, ``sign-off``: what people say of a run; each is one event on its log."""

import asyncio
from typing import Annotated, Any

import typer

from workbench.annotations import entries as annotating
from workbench.annotations.entries import add_comment, add_note
from workbench.annotations.estimates import estimate_rows, give_estimate
from workbench.annotations.outcomes import record_outcome, resolve_from_series, resolve_leaves_from_series
from workbench.cli.common import AsJson, RunId, command, echo, emit_json, open_store, say, unlisted
from workbench.cli.table import show_fields
from workbench.cli.tournament.resolve_due import resolve_due
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.propositions import ROOT
from workbench.questions.sets.question_sets import resolve_question
from workbench.store import Store
from workbench.views.question_documents import question_document
from workbench.views.wording import estimate_lines, outcome_line, remark_line, sign_off_line

_RARE_AUTHOR = unlisted(help="Who says so: a typed name, not proved.")
_AUTHOR = typer.Option(help="Who says so: a typed name, not proved.")


@command
def resolve(
    run: Annotated[
        str | None, typer.Argument(help="Run id, the beginning of one, last, or a question: SET/ID.")
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Argument(help="yes, no, or a share (0.3, 30%). Without it the claim's own series is asked."),
    ] = None,
    on: Annotated[
        str | None, typer.Option(help="Day of the outcome, 2018-12-31; today unless named.")
    ] = None,
    node: Annotated[
        str | None, typer.Option(help="A driver instead of the claim: later runs learn from it.")
    ] = None,
    leaves: Annotated[
        bool, typer.Option("--leaves", help="Every driver whose own embedded series shows how it came out.")
    ] = False,
    due: Annotated[
        bool,
        typer.Option(
            "--due", help="Everything open, runs and sets: the embedded series and the venues are asked."
        ),
    ] = False,
    quiet: Annotated[
        bool,
        unlisted(
            "--quiet",
            "-q",
            help="With --due: say nothing unless something was recorded or failed.",
        ),
    ] = False,
    author: Annotated[str, _RARE_AUTHOR] = "",
    as_json: AsJson = False,
) -> None:
    """Record how a claim turned out, or revise it; the newest answer counts, and no agent ever sees it.

    Runs on the embedded series resolve themselves when they finish, as soon as the data reach the day.
    """
    if due:
        if run is not None:
            raise UsageError("--due looks at everything open: leave out the run or question")
        resolve_due(quiet=quiet, as_json=as_json)
        return
    if run is None:
        raise UsageError("what is resolved? name a run or SET/QUESTION, or --due for all that can be known")
    store = open_store()
    if "/" in run:
        _resolve_question(store, run, outcome, on=on, author=author, as_json=as_json)
        return
    run_id = store.resolve_run(run)
    if leaves or node is not None:
        _resolve_leaves(store, run_id, node, outcome, on=on, author=author, leaves=leaves, as_json=as_json)
        return
    if outcome is not None:
        record_outcome(store, run_id, outcome, on=on, author=author)
    elif on is not None:
        raise UsageError(f"--on {on} belongs to an outcome: yes, no, or a share")
    elif not asyncio.run(resolve_from_series(store, run_id)):
        raise UsageError(
            f"the embedded data do not decide this claim (yet): `workbench resolve {run_id} yes|no|P --on DATE` records it"
        )
    state = load_state(store, run_id)
    decided = state.annotations.outcome
    assert decided is not None
    p = state.tree.root.p
    if as_json:
        emit_json({"run_id": run_id, "p": p, "outcome": decided.to_json(p)})
    else:
        echo(f"{outcome_line(decided, p)}; the forecast was {percent(p)}")


def _resolve_question(
    store: Store, reference: str, answer: str | None, *, on: str | None, author: str, as_json: bool
) -> None:
    name, _, question = reference.partition("/")
    if answer is None:
        raise UsageError(f"what came of {reference}? `workbench resolve {reference} ANSWER`")
    resolved = resolve_question(store, name, question, answer, day=on, author=author)
    if as_json:
        emit_json(question_document(store, name, resolved.id))
        return
    for event, p in resolved.outcomes.items():
        echo(f"{event}: {p:g}")


def _resolve_leaves(
    store: Store,
    run_id: str,
    node: str | None,
    outcome: str | None,
    *,
    on: str | None,
    author: str,
    leaves: bool,
    as_json: bool,
) -> None:
    if leaves and (node is not None or outcome is not None):
        raise UsageError("--leaves asks the series: leave out the outcome and --node")
    if leaves:
        asyncio.run(resolve_leaves_from_series(store, run_id))
    elif outcome is None or node is None:
        raise UsageError(f"say how {node} came out: yes, no, or a share")
    else:
        record_outcome(store, run_id, outcome, on=on, author=author, node=node)
    state = load_state(store, run_id)
    rows: list[dict[str, Any]] = [
        {"node": leaf, "p": state.tree[leaf].p, "outcome": decided.to_json(state.tree[leaf].p)}
        for leaf, decided in sorted(state.annotations.leaf_outcomes.items())
    ]
    if as_json:
        emit_json({"run_id": run_id, "leaves": rows})
        return
    for row in rows:
        echo(
            f"{row['node']}: {row['outcome']['p']:g} on {row['outcome']['day']}; the forecast was {row['p']:.3f}"
        )
    if not rows:
        say("no driver is about an embedded series that shows how it came out")


@command
def comment(
    run: RunId,
    place: Annotated[
        str | None,
        typer.Argument(help="The driver it is pinned to, as P2.1 (P0 is the claim)."),
    ] = None,
    text: Annotated[str | None, typer.Argument(help="The comment, in quotes.")] = None,
    author: Annotated[str, _AUTHOR] = "",
    as_json: AsJson = False,
) -> None:
    """Pin a comment to a driver; without a place list the comments.

    Shown by `show`, the page and the note, covered by a sign-off; packages bring comments to other homes and back.
    """
    store = open_store()
    run_id = store.resolve_run(run)
    if place is not None:
        if text is None:
            raise UsageError(f"what is said of {place}? Write the comment, in quotes")
        add_comment(store, run_id, place, text, author=author)
        say(f"comment on {place} of run {run_id} is on record")
        if not as_json:
            return
    comments = load_state(store, run_id).annotations.comments
    if as_json:
        emit_json({"run_id": run_id, "comments": [each.to_json() for each in comments]})
        return
    for each in comments:
        echo(remark_line(each))
    if not comments:
        say(f"nobody has commented on run {run_id}")


@command
def estimate(
    run: RunId,
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NODE] P", help="A driver and a probability, 0.4 or 40%; alone it is of the claim."
        ),
    ] = None,
    why: Annotated[str, typer.Option(help="Why, in quotes.")] = "",
    withdraw: Annotated[bool, unlisted("--withdraw", help="Take yours back.")] = False,
    author: Annotated[str, _AUTHOR] = "",
    as_json: AsJson = False,
) -> None:
    """Say what you hold a claim or driver to be, beside the model's answer; without a number show what people said.

    The run's own numbers stay, and no agent sees it. Several people's are pooled in log-odds; `score --own` scores each apart.
    """
    parts = words or []
    store = open_store()
    run_id = store.resolve_run(run)
    if parts or withdraw:
        if len(parts) > (1 if withdraw else 2):
            raise UsageError("an estimate is a driver and a probability, or a probability alone")
        node = parts[0] if len(parts) == 2 or (withdraw and parts) else ROOT
        give_estimate(store, run_id, node, None if withdraw else parts[-1], author=author, why=why)
        say(f"{author}'s estimate of {node} in run {run_id} is {'taken back' if withdraw else 'on record'}")
    rows = estimate_rows(load_state(store, run_id))
    if as_json:
        emit_json({"run_id": run_id, "estimates": rows})
        return
    for line in (line for row in rows for line in estimate_lines(row)):
        echo(line)
    if not rows:
        say(f"nobody has given an estimate for run {run_id}")


@command
def note(
    run: RunId,
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[NODE] TEXT", help="A text in quotes, after a driver.")
    ] = None,
    tag: Annotated[list[str] | None, typer.Option("--tag", help="Set a tag; as often as you like.")] = None,
    untag: Annotated[list[str] | None, unlisted("--untag", help="Take a tag off.")] = None,
    author: Annotated[str, _RARE_AUTHOR] = "",
) -> None:
    """Keep a note on a run or on one of its drivers, and tag it; `runs --tag --search` finds it again."""
    parts = words or []
    if len(parts) > 2:
        raise UsageError(f"a note is one text in quotes, after a driver or alone, not {len(parts)} words")
    store = open_store()
    run_id = store.resolve_run(run)
    text = parts[-1] if parts else ""
    place = parts[0] if len(parts) == 2 else None
    add_note(store, run_id, text, node=place, tags=tag or (), untagged=untag or (), author=author)
    say(f"note on {place or 'run'} {run_id if place is None else f'of run {run_id}'} is on record")


@command
def sign_off(
    run: RunId,
    author: Annotated[
        str | None,
        typer.Option(help="Who signs: a typed name, not proved. Without it the checklist is printed."),
    ] = None,
    done: Annotated[
        list[str] | None, typer.Option("--done", help="A point of the checklist that was done, or all.")
    ] = None,
    verdict: Annotated[str, typer.Option(help="accept or return.")] = "accept",
    as_json: AsJson = False,
) -> None:
    """Sign a run off after a review: one hash over its log, its tree, its comments and the checklist."""
    store = open_store()
    run_id = store.resolve_run(run)
    if author is not None:
        annotating.sign_off(store, run_id, author=author, verdict=verdict, done=done or ())
    elif done:
        raise UsageError("a sign-off needs a name: --author NAME")
    rows = annotating.sign_off_rows(store, load_state(store, run_id))
    if as_json:
        emit_json({"run_id": run_id, "checklist": dict(annotating.CHECKLIST), "sign_offs": rows})
        return
    if author is None:
        _print_checklist(annotating.CHECKLIST)
    for row in rows[-1:] if author is not None else rows:
        echo(sign_off_line(row))
    if author is None and not rows:
        say(f"nobody has signed: `workbench sign-off {run_id} --author NAME --done all`")


def _print_checklist(checklist: Any) -> None:
    show_fields(list(checklist.items()))
