"""``audit``: what a run claims, checked from its own records."""

from typing import Annotated

import typer

from workbench.cli.common import JSON_OPTION, RUN, WANTING, command, echo, emit_json, open_store
from workbench.cli.table import show_table
from workbench.engine import documents


@command
def audit(run: Annotated[str, RUN], as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """Check what a run claims from its own records: cutoff, hashes, recomputed values, coherence, isolation, cost."""
    store = open_store()
    report = documents.audit(store, store.resolve_run(run))
    if as_json:
        emit_json(report)
    else:
        lines = [(check["verdict"], check["name"], check["found"]) for check in report["checks"]]
        show_table(("", "check", "result"), lines)
        if spent := report["time_and_money"]:
            echo("")
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
            echo(f"by the clock {spent['worked_seconds']:.1f} s; leaves work side by side")
    if not report["passed"]:
        raise typer.Exit(WANTING)
