"""``scenarios``: saved what-ifs side by side."""

from typing import Annotated, Any

import typer

from workbench.cli.common import AsJson, RunId, command, echo, emit_json, open_store, say, unlisted
from workbench.cli.table import show_table
from workbench.engine.record.fold import load_state
from workbench.errors import UsageError
from workbench.formatting import percent
from workbench.propositions.scenario_set import Action
from workbench.views import tree_questions
from workbench.whatif import saved_scenarios as saved
from workbench.whatif.typed_values import parse_probability


@command
def scenarios(
    run: RunId,
    names: Annotated[list[str] | None, typer.Argument(help="Compare these only; all without.")] = None,
    undo: Annotated[str | None, typer.Option(help="Take back the scenario's last edit.")] = None,
    redo: Annotated[str | None, typer.Option(help="Put back the edit last undone.")] = None,
    close: Annotated[
        str | None, typer.Option(help="Close the scenario; its records stay on the log.")
    ] = None,
    rename: Annotated[
        str | None, typer.Option(help="OLD=NEW: another name; its records stay on the log.")
    ] = None,
    duplicate: Annotated[
        str | None, typer.Option(help="NAME=COPY: the same edits once more, not weighed.")
    ] = None,
    annotate: Annotated[
        str | None, typer.Option(help="NAME=TEXT: what the scenario supposes, and why.")
    ] = None,
    weigh: Annotated[str | None, typer.Option(help="NAME=P: how likely it is held, for the mix.")] = None,
    base_seq: Annotated[
        int | None,
        unlisted(help="The scenario's record this was decided on (its seq in --json)."),
    ] = None,
    author: Annotated[str, unlisted(help="Who does it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Put the saved what-ifs side by side, with their probability-weighted mix; change, copy or close one."""
    store = open_store()
    run_id = store.resolve_run(run)
    wanted: list[tuple[Action, str | None]] = [("undo", undo), ("redo", redo), ("close", close)]
    with store.transaction():
        for action, name in wanted:
            if name is not None:
                saved.change_scenario(store, run_id, action, name, author=author, base_seq=base_seq)
        if rename is not None:
            saved.rename_scenario(store, run_id, *_pair("--rename", rename, "OLD=NEW"), author=author)
        if duplicate is not None:
            saved.duplicate_scenario(
                store, run_id, *_pair("--duplicate", duplicate, "NAME=COPY"), author=author
            )
        if annotate is not None:
            saved.annotate_scenario(store, run_id, *_pair("--annotate", annotate, "NAME=TEXT"), author=author)
        if weigh is not None:
            name, text = _pair("--weigh", weigh, "NAME=P")
            saved.save_scenario(store, run_id, name, (), author=author, probability=parse_probability(text))
    table = tree_questions.scenarios(load_state(store, run_id), names or ())
    if as_json:
        emit_json(table)
        return
    _show_tables(table)
    if not table["scenarios"]:
        say(f"no scenario is open: `workbench whatif {run_id} --set NODE=P --scenario NAME` makes one")


def _pair(option: str, text: str, form: str) -> tuple[str, str]:
    name, equals, rest = (part.strip() for part in text.partition("="))
    if not (name and equals and rest):
        raise UsageError(f"{option} {text!r}: write {form}")
    return name, rest


def _show_tables(table: dict[str, Any]) -> None:
    names = [row["name"] for row in table["scenarios"]]
    lines = [("base", percent(table["base"]["root"]), "")]
    for row in table["scenarios"]:
        notes = [
            "" if row["probability"] is None else f"held {percent(row['probability'])} likely",
            f"STALE at {', '.join(row['stale'])}" if row["stale"] else "",
            f"expired: {', '.join(row['expired'])}" if row["expired"] else "",
            row["rationale"],
        ]
        lines.append((row["name"], percent(row["root"]), "  ".join(filter(None, notes))))
    if table["mix"] is not None:
        shares = ", ".join(f"{name} {percent(share)}" for name, share in table["mix"]["weights"].items())
        lines.append(("mix", percent(table["mix"]["root"]), shares))
    show_table(("scenario", "claim", "notes"), lines)
    if names:
        echo("")
        nodes = [
            (
                row["id"],
                percent(row["base"]),
                *(percent(row["scenarios"][name]) for name in names),
                row["statement"],
            )
            for row in table["nodes"]
        ]
        show_table(("driver", "base", *names, "statement"), nodes)
