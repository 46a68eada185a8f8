"""``report.html``: a finished run on one page that opens anywhere, offline, with no script in it."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from workbench.engine.run.files import run_manifest, write_text_atomically
from workbench.engine.run.state import RunState, notebook_name
from workbench.engine.view import root_base_rate
from workbench.engine.wording import equation_with_values, percent
from workbench.store import ApiLedger, Store
from workbench.templates import html_environment

if TYPE_CHECKING:
    from jinja2 import Template


@cache
def _template() -> "Template":
    return html_environment("workbench.engine.evidence", "").get_template("report.html.j2")


def report_html(store: Store, state: RunState) -> str:
    """Return the page; every text of a model is escaped, so it cannot be more than text."""
    tree = state.tree
    rows: list[dict[str, Any]] = []
    for node in tree.ids():
        proposition = tree[node]
        belief = proposition.belief
        rows.append(
            {
                "id": node,
                "depth": len(list(tree.ancestors(node))),
                "statement": proposition.statement,
                "p": belief.p if belief else None,
                "width": round(100 * belief.p, 1) if belief else 0,
                "key_factor": belief.key_factor if belief else "",
                "report": belief.report if belief else "",
                "rule": equation_with_values(tree, node),
                "notebook": None if proposition.children else f"proofs/{notebook_name(node, 1)}",
            }
        )
    calls = [
        {
            "node": row.address.node,
            "path": row.path,
            "asked": orjson.dumps(row.asked).decode(),
            "as_of": row.answer.meta.get("as_of", "") if row.answer else f"refused: {row.refused}",
            "dropped": row.rows_dropped if row.answer else "",
            "residual": row.answer.meta.get("residual", "") if row.answer else "",
        }
        for row in ApiLedger(store).rows(state.run_id)
    ]
    root = tree.root.belief
    page = _template().render(
        statement=state.statement,
        cutoff=state.cutoff,
        model=state.settings.model,
        run_id=state.run_id,
        isolation=state.isolation,
        imported=state.imported.line() if state.imported else None,
        not_installed=state.not_installed(),
        status=state.status,
        p=root.p if root else None,
        base_rate=root_base_rate(tree),
        rows=rows,
        calls=calls,
        manifest=orjson.dumps(run_manifest(store, state), option=orjson.OPT_INDENT_2).decode(),
        percent=percent,
    )
    return page


def write_report(store: Store, state: RunState) -> Path:
    """Write ``report.html`` into the run's folder and return its path."""
    path = store.folder(state.run_id) / "report.html"
    write_text_atomically(path, report_html(store, state))
    return path
