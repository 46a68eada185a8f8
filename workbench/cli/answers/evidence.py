"""``evidence``: a driver's numbers followed to the rows that they come from."""

import sys
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from workbench.audit.run_findings import finding_lines
from workbench.cli.common import (
    AsJson,
    RunId,
    command,
    echo,
    emit_json,
    open_store,
    unlisted,
)
from workbench.engine.record.fold import load_state
from workbench.formatting import percent
from workbench.views import check_documents
from workbench.views.trail import raw_answer


@command
def evidence(
    run: RunId,
    node: Annotated[str, typer.Argument(help="A driver with a conclusion.")],
    call: Annotated[
        int | None, typer.Option(help="Print the raw answer of this data call, as the cell read it.")
    ] = None,
    trial: Annotated[int, unlisted(help="Which trial of the driver.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Show what a driver rests on: which cell printed each number of its report, and what each cell asked and got."""
    store = open_store()
    run_id = store.resolve_run(run)
    if call is not None:
        _print_answer(store, run_id, node, call, trial)
        return
    document = check_documents.evidence(store, run_id, node, trial)
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
    """Print what a person reads first; where each number comes from and what was asked follow, and hashes stand last."""
    echo(f"{document['node']}  {percent(document['p'])}  {document['statement']}\n")
    for line in finding_lines(document["findings"]):
        echo(f"{line}\n")
    echo(f"{_plain_report(document['report'], document['statement'])}\n")
    if document["by_chance"] is not None:
        echo(f"{document['by_chance']['line']}\n")
    for figure in document["accounting"]:
        echo(f"{figure['name']}: {figure['cell'] or 'from no cell'} ({figure['value']:g})")
    echo("Where its numbers were printed")
    quoted: dict[str, list[str]] = {}
    for number in document["numbers"]:
        quoted.setdefault(number["cell"], []).append(number["text"])
    for cell in document["cells"]:
        numbers = f"  {', '.join(quoted[cell['id']])}" if cell["id"] in quoted else ""
        calls = f"  asked for data ({', '.join(map(str, cell['calls']))})" if cell["calls"] else ""
        echo(f"  {cell['id']:10}{(cell['title'] or cell['first_line'])[:60]}{numbers}{calls}")
        for finding in cell["findings"]:
            echo(f"            {finding}")
    for call in document["calls"]:
        echo("\n" + "\n".join(_call_lines(call)))
    for row in document["earlier"]:
        echo(
            f"\nbefore {row['reopened_utc'][:10]}: {percent(row['p'])}  {row['key_factor']}  {row['reason']}"
        )
    echo(
        f"\nTrial {document['trial']}, attempt {document['attempt']}, {short_hash(document['manifest_id'])}."
    )


def _plain_report(report: str, statement: str) -> str:
    text = report.removeprefix(f"**{statement}**").lstrip()
    return text.replace("**", "").replace("`", "")


def short_hash(identity: str | None) -> str:
    """Return a hash as a person compares it: its first twelve digits; JSON has all of it.

    >>> short_hash("sha256:0123456789abcdef0123"), short_hash(None)
    ('sha256:0123456789ab', 'no manifest')
    """
    return identity[:19] if identity else "no manifest"


def _call_lines(call: Mapping[str, Any]) -> list[str]:
    parameters = ", ".join(f"{name} {value}" for name, value in call["params"].items())
    lines = [f"Data call {call['number']}: {call['path']}{', ' + parameters if parameters else ''}"]
    if call["refused"]:
        return [*lines, f"  refused: {call['refused']}"]
    rows = "no list of rows" if call["rows"] is None else f"{call['rows']:,} rows"
    newest = call["newest"]
    if isinstance(newest, Mapping):
        last = ", the last: " + ", ".join(f"{name} {value}" for name, value in newest.items())
    else:
        last = f", the last: {newest}" if newest else ""
    lines.append(f"  {rows}{last}")
    changes = [f"{call['withheld']:,} later rows withheld"] if call["withheld"] else []
    changes += [f"{call['undated']:,} rows without a date"] if call["undated"] else []
    if clamped := ", ".join(map(str, call["clamped"])):
        changes.append(f"dates of the request moved back: {clamped}")
    policy = call["policy"].replace("_", " ")
    lines.append(
        f"  known at {call['as_of']} by {policy}; {', '.join(changes) or 'nothing taken away'}; risk of later knowledge {call['residual']}"
    )
    lines.append(
        f"  {short_hash(call['content_hash'])}; --call {call['number']} prints the answer as the cell read it"
    )
    return lines
