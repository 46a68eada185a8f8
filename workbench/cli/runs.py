"""``runs``: the runs of this home."""

from typing import Annotated

from workbench.cli.common import JSON_OPTION, command, emit_json, open_store, say


@command
def list_runs(as_json: Annotated[bool, JSON_OPTION] = False) -> None:
    """List the runs of this home, the newest last."""
    from workbench.cli.table import show_table
    from workbench.engine import documents
    from workbench.engine.wording import percent

    store = open_store()
    rows = documents.runs(store)
    if as_json:
        emit_json(rows)
        return
    if not rows:
        say(f"no runs in {store.home} yet: `workbench analyze` or `workbench demo` makes one")
        return
    lines = [
        (
            row["run_id"],
            row["status"],
            percent(row["p"]),
            row["cutoff"],
            f"{'IMPORTED  ' if row['imported'] else ''}{row['statement']}",
        )
        for row in rows
    ]
    show_table(("run", "status", "p", "cutoff", "statement"), lines)
    for row in rows:
        if "not_installed" in row:
            say(f"{row['run_id']}: {row['not_installed']}")
