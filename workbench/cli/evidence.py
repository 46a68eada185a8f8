"""``evidence``: from a leaf's numbers to the cells that printed them, and from cells to the rows they read."""

import sys
from typing import Annotated, Any

import typer

from workbench.cli.common import JSON_OPTION, RUN, command, echo, emit_json, open_store
from workbench.engine import documents
from workbench.engine.evidence.trail import raw_answer
from workbench.engine.run.fold import load_state
from workbench.formatting import percent


@command
def evidence(
    run: Annotated[str, RUN],
    node: Annotated[str, typer.Argument(help="A leaf with a conclusion.")],
    call: Annotated[
        int | None, typer.Option(help="Print the raw answer of this data call, as the cell read it.")
    ] = None,
    trial: Annotated[int, typer.Option(help="Which trial of the leaf.")] = 1,
    as_json: Annotated[bool, JSON_OPTION] = False,
) -> None:
    """Show what a leaf rests on: which cell printed each number of its report, and what each cell asked and got."""
    store = open_store()
    run_id = store.resolve_run(run)
    if call is not None:
        _print_answer(store, run_id, node, call, trial)
        return
    document = documents.evidence(store, run_id, node, trial)
    if as_json:
        emit_json(document)
    else:
        _print(document)


def _print_answer(store: Any, run_id: str, node: str, number: int, trial: int) -> None:
    answer = raw_answer(store, load_state(store, run_id), node, number, trial)
    if sys.stdout.isatty():
        echo(answer.decode("utf-8", "replace"))
    else:
        sys.stdout.buffer.write(answer + b"\n")
        sys.stdout.flush()


def _print(document: dict[str, Any]) -> None:
    echo(
        f"{document['node']}  {percent(document['p'])}  {document['statement']}\n"
        f"trial {document['trial']}, attempt {document['attempt']}, manifest {(document['manifest_id'] or 'none')[:19]}\n"
    )
    for finding in document["findings"]:
        echo(f"READ NO DATA: {finding['words']}\n")
    if document["by_chance"] is not None:
        echo(f"{document['by_chance']['line']}\n")
    echo(f"{document['report']}\n")
    for figure in document["accounting"]:
        echo(f"{figure['name']}: {figure['cell'] or 'from no cell'} ({figure['value']:g})")
    quoted: dict[str, list[str]] = {}
    for number in document["numbers"]:
        quoted.setdefault(number["cell"], []).append(number["text"])
    for cell in document["cells"]:
        numbers = f"  printed {', '.join(quoted[cell['id']])}" if cell["id"] in quoted else ""
        calls = f"  data call {', '.join(map(str, cell['calls']))}" if cell["calls"] else ""
        echo(f"{cell['id']:10}{(cell['title'] or cell['first_line'])[:60]}{numbers}{calls}")
        for finding in cell["findings"]:
            echo(f"          {finding}")
    for call in document["calls"]:
        echo(f"\ncall {call['number']}  {call['path']}  {call['params']}")
        if call["refused"]:
            echo(f"  refused   {call['refused']}")
            continue
        clamped = ", ".join(map(str, call["clamped"])) or "nothing"
        echo(
            f"  as of     {call['as_of']} ({call['policy']}), clamped: {clamped}, undated rows {call['undated']},"
            f" withheld as later {call['withheld']}, residual risk {call['residual']}\n"
            f"  rows      {call['rows'] if call['rows'] is not None else 'no list'}, the last {call['newest']}\n"
            f"  answer    {call['content_hash']}"
        )
    for row in document["earlier"]:
        echo(
            f"\nbefore {row['reopened_utc'][:10]}: {percent(row['p'])}  {row['key_factor']}  {row['reason']}"
        )
