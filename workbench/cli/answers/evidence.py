"""``audit``, ``verify`` and ``evidence``: what a run claims checked from its records, its proofs run again, its numbers followed to their rows."""

import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from workbench.audit.run_findings import finding_lines
from workbench.cli.common import (
    WANTING,
    AsJson,
    IsolationLevel,
    RunId,
    command,
    echo,
    emit_json,
    open_store,
    unlisted,
)
from workbench.cli.table import show_table
from workbench.engine.record.fold import load_state
from workbench.formatting import percent, sandbox_words
from workbench.signing_keys import signed_line
from workbench.views import check_documents
from workbench.views.trail import raw_answer


@command
def audit(run: RunId, as_json: AsJson = False) -> None:
    """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost."""
    store = open_store()
    report = check_documents.audit(store, store.resolve_run(run))
    if as_json:
        emit_json(report)
    else:
        echo(f"{audit_line(report['checks'])}\n")
        # What a reader has to act on stands first.
        checks = sorted(report["checks"], key=lambda check: _ORDER.index(check["verdict"]))
        lines = [(check["verdict"], check["name"], check["found"]) for check in checks]
        show_table(("", "check", "result"), lines)
        if spent := report["time_and_money"]:
            echo(
                f"\nThe run took {spent['worked_seconds']:.1f} s. Drivers are worked on side by side, so that the seconds"
                " of the parts sum to more; waiting is for a kernel, a model or another driver."
            )
            show_table(
                ("time and money", "seconds", "share", "", "US dollars"),
                [
                    (
                        part["name"],
                        f"{part['seconds']:.1f}",
                        f"{part['share']:.0%}",
                        f"{part['count']:,} {part['unit']}" if part["count"] is not None else "",
                        "unknown" if part["usd"] is None else f"{part['usd']:.4f}",
                    )
                    for part in spent["parts"]
                ],
            )
    if not report["passed"]:
        raise typer.Exit(WANTING)


#: Verdicts of checks, the most serious first.
_ORDER = ("bad", "warn", "ok")


def audit_line(checks: Sequence[Mapping[str, Any]]) -> str:
    """Return how the checks came out, in a sentence.

    >>> audit_line([{"verdict": "ok", "name": "cost"}, {"verdict": "bad", "name": "cutoff of every call"}])
    '1 of 2 checks FAILS: cutoff of every call.'
    >>> audit_line([{"verdict": "ok", "name": "cost"}, {"verdict": "warn", "name": "sandbox"}])
    'Nothing fails in 2 checks; look at 1: sandbox.'
    """
    names = {
        verdict: [check["name"] for check in checks if check["verdict"] == verdict] for verdict in _ORDER
    }
    if bad := names["bad"]:
        return f"{len(bad)} of {len(checks)} checks {'FAILS' if len(bad) == 1 else 'FAIL'}: {', '.join(bad)}."
    if warned := names["warn"]:
        return f"Nothing fails in {len(checks)} checks; look at {len(warned)}: {', '.join(warned)}."
    return f"All {len(checks)} checks hold."


@command
def verify(
    run: RunId,
    node: Annotated[str | None, typer.Argument(help="One driver; all without it.")] = None,
    isolation: IsolationLevel = None,
    as_json: AsJson = False,
) -> None:
    """Compare proofs with their journals, their data with the ledger, and their outputs with a re-run, offline.

    If the records already differ, or no proof has a notebook, no cell is run. The level that stands in the run's records is not used.
    """
    store = open_store()
    report = asyncio.run(
        check_documents.verification(store, store.resolve_run(run), node, isolation=isolation)
    )
    if as_json:
        emit_json(report)
    else:
        for row in report["differing"]:
            echo(f"differs   {row['node'] or 'run'} {row['check']} {row['cell'] or ''}: {row['what']}")
        for row in report["unrepeatable"]:
            echo(f"unlike    {row['node']} {row['cell']}: {row['what']}")
        for row in report["advisory"]:
            echo(
                f"advisory  {row['node']} {row['check']} {row['cell'] or ''}: {row['what']} (another processor or other package versions than the run's)"
            )
        word = "verified" if report["verified"] else "NOT verified"
        echo(
            f"{word}: {report['proofs']} proofs, {report['cells']} cells, {len(report['differing'])} differences"
        )
        echo(drift_line(report))
        echo(signed_line(report["signed"]))
        echo(rerun_line(report["isolation"], verified=report["verified"]))
    if not report["verified"]:
        raise typer.Exit(WANTING)


def drift_line(report: Mapping[str, Any]) -> str:
    """Return what the proofs conclude now, and how far that lies from the record."""
    place = report["node"]
    if report["p"] is None:
        return f"{place} {percent(report['recorded_p'])} on record; the re-run concludes nothing that can be compared"
    line = f"{place} {percent(report['p'])} as re-run, {percent(report['recorded_p'])} on record: drift {100 * report['drift']:+.2g} points"
    if report["drifting"]:
        rows = [
            f"{row['node']} {percent(row['recorded_p'])} to {percent(row['p'])}" for row in report["drifting"]
        ]
        line += f" ({', '.join(rows[:6])})"
    return line.replace("drift +0 points", "no drift")


def rerun_line(isolation: str | None, *, verified: bool) -> str:
    """Return the line that says where the cells were re-run, or why no kernel was started."""
    if isolation is None and verified:
        return "nothing was re-run: no proof has a notebook, each was compared with its records by its own evidence"
    if isolation is None:
        return "nothing was re-run: what differs was found without it"
    if isolation == "none":
        return "WARNING: the cells were re-run UNSEALED (isolation none), with your rights, as you asked"
    return f"re-run in a sandbox, {sandbox_words(isolation)}"


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
