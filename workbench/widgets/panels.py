"""The panels around the tree, as HTML of our own: header, what-if table, sensitivities, the selected proposition.

Pure functions from values to text. Everything that a model or an analyst wrote is escaped here.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from workbench.propositions import NodeId, Proposition, Rule, Tree, natural_order
from workbench.synthesis import TornadoRow, WhatIf
from workbench.synthesis.rules.linear import INTERCEPT
from workbench.widgets.wording import MINUS, percent, points, signed

ISOLATION_WORDS = {
    "namespaces": "sealed by namespaces",
    "landlock": "sealed by Landlock",
    "none": "NOT SEALED",
}

_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def prose(text: str) -> str:
    """Return the text escaped, its dates kept on one line.

    >>> prose("up & away by 2018-12-31")
    'up &amp; away by <span class="wb-date">2018-12-31</span>'
    """
    return _DATE.sub(r'<span class="wb-date">\g<0></span>', escape(text))


def header(document: Mapping[str, Any], now: WhatIf, edits: int, base_rate: float | None) -> str:
    """Return the headline: the statement, its probability (before and after any edits), the base rate, how it was made."""
    facts = [
        ("Knowledge cutoff", str(document.get("cutoff", ""))),
        ("Model", str(document.get("model") or "not recorded")),
        ("Kernels", ISOLATION_WORDS.get(str(document.get("isolation")), "none ran yet")),
        ("Calls", _calls(document)),
        ("Run", str(document.get("run_id", ""))),
        ("Origin", _origin(document.get("imported"))),
    ]
    loud = {"Origin"} | ({"Kernels"} if document.get("isolation") == "none" else set())
    listed = "".join(
        f'<div class="wb-fact{" wb-loud" if name in loud else ""}">'
        f'<span class="wb-label">{name}</span>{escape(value)}</div>'
        for name, value in facts
        if value
    )
    shown = now.after if edits else now.before
    before = f'<span class="wb-before">{percent(now.before)} before your edits</span>' if edits else ""
    status = document.get("status")
    unfinished = (
        f'<span class="wb-status">{escape(str(status))}</span>' if status not in (None, "done") else ""
    )
    base = (
        f'<div class="wb-figure wb-second"><span class="wb-label">Base rate</span><span class="wb-number">{percent(base_rate)}</span>'
        f'<span class="wb-before">{_against(shown, base_rate)}</span></div>'
    )
    return (
        '<header class="wb-header"><div class="wb-title">'
        f'<h1>{prose(str(document.get("statement", "")))}{unfinished}</h1><div class="wb-facts">{listed}</div></div>'
        f'<div class="wb-figure" data-changed="{str(bool(edits)).lower()}"><span class="wb-label">Probability</span>'
        f'<span class="wb-number" data-field="root">{percent(shown)}</span>{before}</div>'
        f"{base}</header>"
    )


def _origin(imported: Mapping[str, Any] | None) -> str:
    """Return how a run of another home is marked; nothing for one of this home."""
    if not imported:
        return ""
    altered = f", ALTERED ({len(imported['differing'])} differences)" if imported["differing"] else ""
    signed = imported.get("signed")
    by = f"signed by {signed['name'] or 'an unknown key, ' + signed['fingerprint']}" if signed else "unsigned"
    return f"IMPORTED {imported['at_utc'][:10]}, made elsewhere, {by}{altered}"


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
    if not edits:
        return (
            '<p class="wb-empty">Type a probability into any row, use its arrow keys, or drag its bar. Ancestors are '
            "recomputed at once from the rules shown; the run itself stays as it is.</p>"
        )
    rows = "".join(
        f'<tr data-edited="{str(change.id in edits).lower()}"><th scope="row">{change.id}</th>'
        f"<td>{'edited' if change.id in edits else 'follows'}</td>"
        f"<td>{percent(change.before)}</td><td>{percent(change.after)}</td>"
        f"<td>{_change(change.before, change.after)}</td></tr>"
        for change in now.changed
    )
    command = " ".join(
        ["workbench whatif", shlex.quote(run_id), *(f"--set {node}={p!r}" for node, p in edits.items())]
    )
    stale = (
        f'<p class="wb-warn">No formula at {", ".join(now.stale)}: add --full to ask the model again.</p>'
        if now.stale
        else ""
    )
    return (
        '<table class="wb-table"><thead><tr><th></th><th></th><th>Before</th><th>After</th><th>Change</th></tr></thead>'
        f'<tbody>{rows}</tbody></table>{stale}<p class="wb-command"><code>{escape(command)}</code></p>'
    )


def _change(before: float | None, after: float | None) -> str:
    if before is None or after is None:
        return points(None)
    side = "up" if after > before else "down" if after < before else "same"
    return f'<span data-side="{side}">{points(after - before)}</span>'


def sensitivity(
    rows: Sequence[TornadoRow], tree: Tree, root: float | None, reachable: tuple[float, float] | None = None
) -> str:
    """Return the tornado: for each leaf, where the root would be if the leaf were false and if it were true.

    Below it the root's reachable range: whatever all leaves turn out to be at once.
    """
    known = [row for row in rows if row.low is not None and row.high is not None]
    if not known or root is None:
        return '<p class="wb-empty">No formula leads from the leaves to the root.</p>'
    lines = []
    for row in known:
        low, high = row.low or 0.0, row.high or 0.0
        rising = (row.path_weight or 0.0) >= 0
        lines.append(
            f'<tr data-leaf="{row.id}" title="{escape(tree[row.id].statement)}"><th scope="row">{row.id}</th>'
            f"{_cell('low', low)}"
            f'<td class="wb-span"><div class="wb-axis"><i class="{"wb-neg" if rising else "wb-pos"}" '
            f'style="left:{100 * low:.2f}%;width:{100 * max(0.0, root - low):.2f}%"></i>'
            f'<i class="{"wb-pos" if rising else "wb-neg"}" style="left:{100 * root:.2f}%;width:{100 * max(0.0, high - root):.2f}%"></i>'
            f'<b style="left:{100 * root:.2f}%"></b></div></td>{_cell("high", high)}'
            f'<td data-field="weight" data-value="{"" if row.path_weight is None else repr(row.path_weight)}">'
            f"{signed(row.path_weight) if row.path_weight is not None else ''}</td></tr>"
        )
    return (
        '<table class="wb-table wb-tornado"><thead><tr><th></th><th>Low</th>'
        f'<th class="wb-span">Root, now {percent(root)}</th><th>High</th><th title="path weight">Weight</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
        '<p class="wb-key"><i class="wb-neg"></i> leaf false <i class="wb-pos"></i> leaf true</p>'
        f"{_reach(reachable, root)}"
    )


def _cell(field: str, p: float | None) -> str:
    """A probability as a table's cell; ``data-value`` holds all its digits for who compares."""
    return f'<td data-field="{field}" data-value="{"" if p is None else repr(p)}">{percent(p)}</td>'


def _reach(span: tuple[float, float] | None, root: float) -> str:
    if span is None:
        return ""
    low, high = span
    return (
        '<div class="wb-reach"><span class="wb-label">Reachable, whatever the leaves turn out to be</span>'
        f'<span data-field="reachable-low" data-value="{low!r}">{percent(low)}</span>'
        f'<div class="wb-axis"><i class="wb-range" style="left:{100 * low:.2f}%;width:{100 * (high - low):.2f}%"></i>'
        f'<b style="left:{100 * root:.2f}%"></b></div>'
        f'<span data-field="reachable-high" data-value="{high!r}">{percent(high)}</span></div>'
    )


def scenarios(table: Mapping[str, Any], now: float | None, edits: int) -> str:
    """Return the saved scenarios beside the base and this page's edits, with the mix, and where they differ.

    ``table`` is what ``workbench scenarios --json`` prints.
    """
    base = table["base"]["root"]
    rows = [_scenario_row("base", "the run as it is", base, base)]
    if edits:
        what = "1 edit on this page" if edits == 1 else f"{edits} edits on this page"
        rows.append(_scenario_row("this page", what, now, base))
    for row in table["scenarios"]:
        held = "" if row["probability"] is None else f"held {percent(row['probability'])} likely"
        late = f"out of date at {', '.join(row['stale'])}" if row["stale"] else ""
        words = "; ".join(part for part in (row["rationale"], held, late) if part)
        rows.append(_scenario_row(row["name"], words, row["root"], base, saved=True))
    if table["mix"] is not None:
        shares = ", ".join(f"{name} {percent(share)}" for name, share in table["mix"]["weights"].items())
        rows.append(_scenario_row("mix", shares, table["mix"]["root"], base, mix=True))
    none = (
        ""
        if table["scenarios"]
        else '<p class="wb-empty">None is saved yet. Edit the tree, give the edits a name, and save them here, or use '
        "<code>workbench whatif RUN --set NODE=P --scenario NAME</code>.</p>"
    )
    return (
        '<table class="wb-table wb-compare"><thead><tr><th></th><th></th><th>Root</th><th>Change</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>{none}{_differences(table)}"
    )


def _scenario_row(
    name: str, words: str, root: float | None, base: float | None, *, saved: bool = False, mix: bool = False
) -> str:
    kind = "scenario" if saved else "mix" if mix else "base" if name == "base" else "page"
    return (
        f'<tr data-kind="{kind}" data-scenario="{escape(name)}"><th scope="row">{escape(name)}</th><td>{prose(words)}</td>'
        f"{_cell('scenario-root', root)}<td>{'' if kind == 'base' else _change(base, root)}</td></tr>"
    )


def _differences(table: Mapping[str, Any]) -> str:
    names = [row["name"] for row in table["scenarios"]]
    if not names:
        return ""
    head = "".join(f"<th>{escape(name)}</th>" for name in ("base", *names))
    lines = "".join(
        f'<tr title="{escape(row["statement"])}"><th scope="row">{row["id"]}</th><td>{percent(row["base"])}</td>'
        + "".join(f"<td>{percent(row['scenarios'][name])}</td>" for name in names)
        + "</tr>"
        for row in table["nodes"]
    )
    return (
        '<details class="wb-differences"><summary>Where they differ</summary><table class="wb-table">'
        f"<thead><tr><th></th>{head}</tr></thead><tbody>{lines}</tbody></table></details>"
    )


def selected(node: NodeId, tree: Tree, base: Tree) -> str:
    """Return the head of the right-hand pane: the proposition in full, its value, and what decides it."""
    proposition = tree[node]
    belief = proposition.belief
    key = belief.key_factor if belief is not None else ""
    was = base[node].p
    changed = f' <s class="wb-was">{percent(was)}</s>' if was != proposition.p else ""
    key_line = (
        f'<p class="wb-key-factor"><span class="wb-label">Key factor</span>{escape(key)}</p>' if key else ""
    )
    return (
        f'<div class="wb-selected"><div class="wb-line-one"><span class="wb-id">{node}</span>'
        f'<span class="wb-value">{percent(proposition.p)}{changed}</span></div>'
        f"<p>{prose(proposition.statement)}</p>{key_line}</div>"
    )


def combination(node: NodeId, tree: Tree) -> str:
    """Return how an inner proposition's value comes about: its rule, and for a linear one the sum term by term."""
    proposition = tree[node]
    rule = proposition.rule
    if rule is None:
        return '<div class="wb-combination"><p class="wb-empty">Not synthesized yet.</p></div>'
    pinned = (
        '<p class="wb-warn">Pinned at your value: the rule below has no say until you unpin it.</p>'
        if proposition.pinned
        else ""
    )
    formula = f'<p class="wb-rule"><code>{node} = {escape(rule.equation())}</code></p>'
    terms = _sum(node, rule, tree) if rule.affine else ""
    return f'<div class="wb-combination">{pinned}{formula}{terms}</div>'


def synthesis_text(proposition: Proposition) -> str:
    """Return the words behind an inner proposition as Markdown: the synthesis' report and the analyzer's note.

    Lines that are JSON are for programs and left out.
    """
    report = proposition.belief.report if proposition.belief is not None else ""
    prose = "\n".join(line for line in report.splitlines() if not line.lstrip().startswith("{")).strip()
    parts = [prose] if prose else []
    if proposition.causality:
        parts.append(f"## How the parts bear on it\n\n{proposition.causality}")
    return "\n\n".join(parts)


def _sum(node: NodeId, rule: Rule, tree: Tree) -> str:
    values = {child: tree[child].p for child in tree[node].children}
    # an affine rule has the same coefficients at every point, so any value stands in for a missing one
    coefficients = rule.coefficients({child: 0.5 if p is None else p for child, p in values.items()})
    total: float | None = coefficients.get(INTERCEPT, 0.0)
    lines = [f"<tr><td>Intercept</td><td></td><td></td><td>{_share(total)}</td></tr>"]
    for child in natural_order(coefficients.keys() & values.keys()):
        weight, p = coefficients[child], values[child]
        share = None if p is None else weight * p
        total = None if share is None or total is None else total + share
        lines.append(
            f'<tr><td><span class="wb-id">{child}</span> {prose(tree[child].statement)}</td><td>{signed(weight, exact=True)}</td>'
            f"<td>{percent(p)}</td><td>{_share(share)}</td></tr>"
        )
    lines.append(f'<tr class="wb-total"><td>{node}</td><td></td><td></td><td>{percent(total)}</td></tr>')
    return (
        '<table class="wb-table wb-sum"><thead><tr><th>Part</th><th>Weight</th><th>Value</th><th>Share</th></tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table>"
    )


def _share(value: float | None) -> str:
    if value is None:
        return percent(None)
    return f"{MINUS if value < 0 else ''}{percent(abs(value))}"


def refusal(line: str) -> str:
    """Return one line that says why something was not done."""
    return f'<p class="wb-warn" role="alert">{escape(line)}</p>'


def note(line: str) -> str:
    """Return one line that says that something was done."""
    return f'<p class="wb-saved" role="status">{escape(line)}</p>'


def runs_table(runs: Sequence[Mapping[str, Any]], *, note: str = "") -> str:
    """Return the list of runs of a data folder, newest first, each a link to its dashboard."""
    lines = "".join(
        f'<tr><td><a href="?run={escape(str(run["run_id"]))}">{prose(str(run["statement"]))}</a>'
        f"{' <strong>IMPORTED</strong>' if run.get('imported') else ''}</td>"
        f"<td>{escape(str(run['cutoff']))}</td><td>{percent(run['p'])}</td><td>{escape(str(run['status']))}</td>"
        f"<td>{escape(str(run['run_id']))}</td></tr>"
        for run in runs
    )
    said = f'<p class="wb-warn" role="alert">{escape(note)}</p>' if note else ""
    table = (
        '<table class="wb-table wb-runs"><thead><tr><th>Proposition</th><th>Cutoff</th><th>Probability</th><th>Status</th>'
        f"<th>Run</th></tr></thead><tbody>{lines}</tbody></table>"
        if runs
        else '<p class="wb-empty">No runs yet. Start one with <code>workbench analyze "..." --cutoff DATE</code>.</p>'
    )
    return f'<div class="wb-start"><h1>Runs</h1>{said}{table}</div>'
