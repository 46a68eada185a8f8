"""The panels around the tree as HTML: header, what-if table, sensitivities, scenarios, the selected proposition.

The dashboard shows them. Functions in here work out the numbers; ``templates/*.html.j2`` lay them out and escape every text
that a model or an analyst wrote.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from workbench.engine.keys import signed_line
from workbench.engine.wording import percent
from workbench.propositions import NodeId, Proposition, Rule, Tree, natural_order
from workbench.synthesis import TornadoRow, WhatIf
from workbench.synthesis.rules.linear import INTERCEPT
from workbench.synthesis.rules.wording import signed
from workbench.templates import html_environment
from workbench.widgets.numbers import MINUS, points, two_decimals

if TYPE_CHECKING:
    from jinja2 import Environment

ISOLATION_WORDS = {
    "namespaces": "sealed by namespaces",
    "landlock": "sealed by Landlock",
    "none": "NOT SEALED",
}

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def prose(text: str) -> Markup:
    """Return the text escaped, its dates kept on one line; a filter of the templates.

    >>> print(prose("up & away by 2018-12-31"))
    up &amp; away by <span class="wb-date">2018-12-31</span>
    """
    # Safe: the text is escaped first, and what is put in around a date holds digits and dashes of it only.
    return Markup(_DATE.sub(r'<span class="wb-date">\g<0></span>', str(escape(text))))


@cache
def _environment() -> "Environment":
    return html_environment(
        "workbench.widgets",
        digits=_digits,
        percent=percent,
        points=points,
        prose=prose,
        share=_share,
        signed=signed,
        two_decimals=two_decimals,
        width=_width,
    )


def _rendered(template: str, **values: object) -> str:
    return _environment().get_template(f"{template}.html.j2").render(**values)


def _digits(value: float | None) -> str:
    return "" if value is None else repr(value)


def _width(share: float) -> str:
    return f"{100 * share:.2f}%"


def _share(value: float | None) -> str:
    if value is None:
        return percent(None)
    return f"{MINUS if value < 0 else ''}{percent(abs(value))}"


def header(document: Mapping[str, Any], now: WhatIf, edits: int, base_rate: float | None) -> str:
    """Return the headline: the statement, its probability (before and after any edits), the base rate, how it was made."""
    probability = now.after if edits else now.before
    status = document.get("status")
    return _rendered(
        "header",
        statement=str(document.get("statement", "")),
        status="" if status in (None, "done") else str(status),
        facts=[
            ("Knowledge cutoff", str(document.get("cutoff", ""))),
            ("Model", str(document.get("model") or "not recorded")),
            ("Kernels", ISOLATION_WORDS.get(str(document.get("isolation")), "none ran yet")),
            ("Calls", _calls(document)),
            ("Run", str(document.get("run_id", ""))),
            ("Origin", _origin(document.get("imported"))),
        ],
        loud={"Origin"} | ({"Kernels"} if document.get("isolation") == "none" else set()),
        edited=bool(edits),
        probability=probability,
        before=now.before,
        base_rate=base_rate,
        against=_against(probability, base_rate),
    )


def _origin(imported: Mapping[str, Any] | None) -> str:
    """Return the mark of an imported run: when it came, who signed it, whether it was altered; empty for an own run."""
    if not imported:
        return ""
    altered = f", ALTERED ({len(imported['differing'])} differences)" if imported["differing"] else ""
    return (
        f"IMPORTED {imported['at_utc'][:10]}, made elsewhere, {signed_line(imported.get('signed'))}{altered}"
    )


def _calls(document: Mapping[str, Any]) -> str:
    cost = document.get("cost_usd")
    price = "cost unknown" if cost is None else f"USD {cost:.2f}"
    return f"{document.get('model_calls', 0)} model, {document.get('api_calls', 0)} data, {price}"


def _against(p: float | None, base_rate: float | None) -> str:
    if base_rate is None:
        return "not counted"
    return "" if p is None else f"{points(p - base_rate)} against it"


def what_if(run_id: str, now: WhatIf, edits: Mapping[NodeId, float], tree: Tree) -> str:
    """Return the table of edited propositions and moved ancestors, before and after, and the command that prints the same."""
    # repr, not a rounded figure: the command has to give the same digits as the page.
    sets = (f"--set {node}={p!r}" for node, p in edits.items())
    return _rendered(
        "what_if",
        edits=edits,
        rows=now.changed,
        stale=now.stale,
        command=" ".join(["workbench whatif", shlex.quote(run_id), *sets]),
    )


def sensitivity(
    rows: Sequence[TornadoRow], tree: Tree, root: float | None, reachable: tuple[float, float] | None = None
) -> str:
    """Return the tornado: for each leaf, where the root would be if the leaf were false and if it were true.

    Below it the root's reachable range: whatever all leaves turn out to be at once.
    """
    computable = [row for row in rows if row.low is not None and row.high is not None]
    listed = [
        {
            "id": row.id,
            "statement": tree[row.id].statement,
            "low": row.low,
            "high": row.high,
            "path_weight": row.path_weight,
        }
        for row in computable
    ]
    return _rendered("sensitivity", rows=listed if root is not None else [], root=root, reachable=reachable)


def scenarios(table: Mapping[str, Any], now: float | None, edits: int) -> str:
    """Return the saved scenarios beside the base and this page's edits, with the mix, and where they differ.

    ``table`` is what ``workbench scenarios --json`` prints.
    """
    base = table["base"]["root"]
    rows = [{"kind": "base", "name": "base", "words": "the run as it is", "root": base}]
    if edits:
        count = "1 edit on this page" if edits == 1 else f"{edits} edits on this page"
        rows.append({"kind": "page", "name": "this page", "words": count, "root": now})
    for row in table["scenarios"]:
        held = "" if row["probability"] is None else f"held {percent(row['probability'])} likely"
        late = f"out of date at {', '.join(row['stale'])}" if row["stale"] else ""
        words = "; ".join(part for part in (row["rationale"], held, late) if part)
        rows.append({"kind": "scenario", "name": row["name"], "words": words, "root": row["root"]})
    if table["mix"] is not None:
        shares = ", ".join(f"{name} {percent(share)}" for name, share in table["mix"]["weights"].items())
        rows.append({"kind": "mix", "name": "mix", "words": shares, "root": table["mix"]["root"]})
    names = [row["name"] for row in table["scenarios"]]
    return _rendered("scenarios", base=base, rows=rows, names=names, nodes=table["nodes"])


def selected(node: NodeId, tree: Tree, base: Tree) -> str:
    """Return the head of the right-hand pane: the proposition in full, its value, and what decides it."""
    proposition = tree[node]
    belief = proposition.belief
    return _rendered(
        "selected",
        id=node,
        p=proposition.p,
        before=base[node].p,
        statement=proposition.statement,
        key_factor=belief.key_factor if belief is not None else "",
    )


def combination(node: NodeId, tree: Tree) -> str:
    """Return how an inner proposition's value comes about: its rule, and for a linear one the sum term by term."""
    proposition = tree[node]
    rule = proposition.rule
    return _rendered(
        "combination",
        id=node,
        pinned=proposition.pinned,
        equation=rule.equation() if rule is not None else None,
        sum=_sum(node, rule, tree) if rule is not None and rule.affine else None,
    )


def _sum(node: NodeId, rule: Rule, tree: Tree) -> dict[str, Any]:
    """Return an affine rule's sum: the intercept, each child's weight, value and share, and the total."""
    values = {child: tree[child].p for child in tree[node].children}
    # an affine rule has the same coefficients at every point, so any value stands in for a missing one
    coefficients = rule.coefficients({child: 0.5 if p is None else p for child, p in values.items()})
    intercept = coefficients.get(INTERCEPT, 0.0)
    total: float | None = intercept
    parts = []
    for child in natural_order(coefficients.keys() & values.keys()):
        weight, p = coefficients[child], values[child]
        share = None if p is None else weight * p
        total = None if share is None or total is None else total + share
        parts.append(
            {"id": child, "statement": tree[child].statement, "weight": weight, "p": p, "share": share}
        )
    return {"intercept": intercept, "parts": parts, "total": total}


def synthesis_text(proposition: Proposition) -> str:
    """Return the words behind an inner proposition as Markdown: the synthesis' report and the analyzer's note.

    Lines that are JSON are for programs and left out.
    """
    report = proposition.belief.report if proposition.belief is not None else ""
    words = "\n".join(line for line in report.splitlines() if not line.lstrip().startswith("{")).strip()
    parts = [words] if words else []
    if proposition.causality:
        parts.append(f"## How the parts bear on it\n\n{proposition.causality}")
    return "\n\n".join(parts)


def refusal(line: str) -> str:
    """Return one line that says why something was not done."""
    return _rendered("notice", line=line, refused=True)


def note(line: str) -> str:
    """Return one line that says that something was done."""
    return _rendered("notice", line=line, refused=False)


def runs_table(runs: Sequence[Mapping[str, Any]], *, note: str = "") -> str:
    """Return the list of runs of a data folder, newest first, each a link to its dashboard."""
    listed = [{"imported": None, **run} for run in runs]
    return _rendered("runs", runs=listed, note=note)
