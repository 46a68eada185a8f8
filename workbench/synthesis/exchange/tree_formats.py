"""The tree in formats of other programs, and back from JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from proxies.input_files import InputRefused, parse_csv_rows, parse_json
from workbench.propositions import Proposition, Tree, TreeFormatError, parent_of
from workbench.propositions.proposition_json import proposition_to_json
from workbench.propositions.rule import Normaliser
from workbench.spreadsheet import guard_formula, unguard_formula
from workbench.synthesis.errors import NotRepresentable
from workbench.synthesis.exchange.bayes_net import BayesNet, OnMisfit, Variable, bayes_net
from workbench.synthesis.rules.equation_text import decimal
from workbench.synthesis.rules.rule_registry import tree_from_json

FORMATS = ("json", "csv", "bif", "problog")

_TEXTS = ("statement", "key_factor", "report", "causality")
_MARKS = ("pinned", "stale", "refit_due")
_PACKED = ("rule", "model_belief", "override")

_COLUMNS = (
    "id",
    "parent",
    "polarity",
    "statement",
    "p",
    "key_factor",
    "source",
    "rule",
    "causality",
    "pinned",
    "stale",
    "refit_due",
    "report",
    "model_belief",
    "override",
)
#: Stands in the root's row of an export of a run; says where the numbers are from, and is no part of the tree.
_MANIFEST = "manifest"  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """An exported tree: its text, and the changes to fit the format, one line each (empty when there were none)."""

    text: str
    notes: tuple[str, ...] = ()


def export_tree(
    tree: Tree,
    to: str,
    misfit: OnMisfit = "refuse",
    normalise: Normaliser = "scale",
    *,
    manifest: str | None = None,
) -> Export:
    """Write the tree in a format.

    Raises `NotRepresentable`: The tree is no Bayes net, or an unknown format.
    """
    origin = [f"manifest {manifest}"] if manifest is not None else []
    if to == "json":
        data = tree.to_json() | ({_MANIFEST: manifest} if manifest is not None else {})
        return Export(text=json.dumps(data, ensure_ascii=False, indent=2) + "\n")
    if to == "csv":
        return Export(text=_csv(tree, manifest))
    if to == "bif":
        net = bayes_net(tree, misfit, normalise)
        return Export(text=bif(net, origin), notes=net.notes)
    if to == "problog":
        net = bayes_net(tree, misfit, normalise)
        return Export(text="".join(f"% {line}\n" for line in origin) + problog(net), notes=net.notes)
    raise NotRepresentable(f"no export to {to!r}; there are {', '.join(FORMATS)}")


def import_tree(text: str, form: str | None = None) -> Tree:
    """Read a tree from JSON or CSV text.

    JSON may be an export, or a document of ``analyze`` or ``show`` (its nodes' p are taken; reports are not in it).

    Raises `TreeFormatError, TreeError, RuleError`.
    """
    # Spreadsheets put a byte order mark before the CSV they save.
    text = text.removeprefix("\ufeff")
    kind = form or ("json" if text.lstrip().startswith("{") else "csv")
    if kind == "csv":
        return tree_from_json({"nodes": list(_csv_rows(text))})
    if kind != "json":
        raise TreeFormatError(f"a tree can be imported from json or csv, not {kind!r}")
    try:
        data = parse_json(text, "this tree")
    except InputRefused as error:
        raise TreeFormatError(str(error)) from None
    if isinstance(data, Mapping) and "run_id" in data and isinstance(data.get("nodes"), list):
        data = {"nodes": [_from_document(row) for row in data["nodes"]]}
    if isinstance(data, dict):
        data.pop(_MANIFEST, None)
    return tree_from_json(data)


def _from_document(row: Any) -> dict[str, Any]:
    if not isinstance(row, Mapping) or not {"id", "parent", "statement"} <= row.keys():
        raise TreeFormatError("an entry of `nodes` needs id, parent and statement")
    p = row.get("p")
    belief = None if p is None else {"p": p, "key_factor": row.get("key_factor") or ""}
    return {
        "id": row["id"],
        "parent": row["parent"],
        "statement": row["statement"],
        "belief": belief,
        "rule": row.get("rule"),
    }


# -- CSV: a row per proposition, depth first


def _csv(tree: Tree, manifest: str | None) -> str:
    out = io.StringIO()
    columns = _COLUMNS if manifest is None else (*_COLUMNS, _MANIFEST)
    # ends lines with \r\n, so a lone \r in a report is quoted too
    writer = csv.DictWriter(out, columns, restval="")
    writer.writeheader()
    for node in tree.propositions():
        row = _csv_row(tree, node)
        if manifest is not None and node.id == tree.root.id:
            row[_MANIFEST] = manifest
        quoted = {name: guard_formula(row[name]) for name in _TEXTS}
        writer.writerow({**row, **quoted})
    return out.getvalue()


def _csv_row(tree: Tree, node: Proposition) -> dict[str, str]:
    data = proposition_to_json(node)
    parent, belief = tree.parent(node.id), node.belief
    return {
        "id": node.id,
        "parent": parent or "",
        "polarity": tree[parent].polarities.get(node.id, "") if parent else "",
        "statement": node.statement,
        "causality": node.causality,
        # repr: the shortest text that reads back as the same float.
        "p": "" if belief is None else repr(belief.p),
        **{name: getattr(belief, name, "") for name in ("key_factor", "source", "report")},
        **{name: "true" if data[name] else "" for name in _MARKS},
        **{name: _packed(data.get(name)) for name in _PACKED},
    }


def _packed(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _csv_rows(text: str) -> Iterable[dict[str, Any]]:
    try:
        lines = parse_csv_rows(text, "this CSV")
        header = set(lines[0] if lines else ())
    except InputRefused as error:
        raise TreeFormatError(str(error)) from None
    if not {"id", "statement"} <= header:
        raise TreeFormatError("a tree's CSV needs a header with at least id and statement")
    unknown = header - {*_COLUMNS, _MANIFEST}
    if unknown:
        names = ", ".join(sorted(map(str, unknown)))
        raise TreeFormatError(f"unknown CSV columns: {' '.join(names.split())}; known: {', '.join(_COLUMNS)}")
    polarities: dict[str, dict[str, str]] = {}
    rows: list[dict[str, Any]] = []
    for line, raw in enumerate(lines, start=2):
        cell = {key: value for key, value in raw.items() if value != ""}
        for key in _TEXTS:
            if key in cell:
                cell[key] = unguard_formula(cell[key])
        row: dict[str, Any] = {"id": cell.get("id", ""), "statement": cell.get("statement", "")}
        if "parent" in header:
            row["parent"] = cell.get("parent")
        if "polarity" in cell:
            polarities.setdefault(str(parent_of(row["id"])), {})[row["id"]] = cell["polarity"]
        if "p" in cell:
            row["belief"] = {
                "p": _csv_number(cell["p"], line),
                "key_factor": cell.get("key_factor", ""),
                "report": cell.get("report", ""),
                "source": cell.get("source", "model"),
            }
        for key in _PACKED:
            if key in cell:
                row[key] = _unpacked(cell[key], key, line)
        for key in _MARKS:
            if cell.get(key, "false") not in ("true", "false"):
                raise TreeFormatError(
                    f"row {line} of the CSV: {key} is true, false or empty, not {cell[key]!r}"
                )
            row[key] = cell.get(key) == "true"
        row["causality"] = cell.get("causality", "")
        rows.append(row)
    for row in rows:
        row["polarities"] = polarities.get(row["id"], {})
    return rows


def _csv_number(text: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise TreeFormatError(f"row {line} of the CSV: p is {text!r}, not a number") from None


def _unpacked(text: str, key: str, line: int) -> Any:
    try:
        return parse_json(text, key)
    except InputRefused as error:
        raise TreeFormatError(f"row {line} of the CSV: {error}") from None


# -- BIF


def bif(net: BayesNet, origin: Iterable[str] = ()) -> str:
    """Write the net in the Bayesian interchange format, which pgmpy, bnlearn, GeNIe and others read.

    Raises `NotRepresentable`: A variable with more than 16 parents.
    """
    names = {variable.id: variable.name for variable in net.variables}
    lines = ["network propositions {"]
    remarks = enumerate([*origin, *net.notes], 1)
    lines += [f"  property note{number} = {_quoted(note)};" for number, note in remarks]
    lines.append("}")
    for variable in net.variables:
        lines += [
            f"variable {variable.name} {{",
            "  type discrete [ 2 ] { no, yes };",
            f"  property id = {_quoted(variable.id)};",
            f"  property statement = {_quoted(variable.statement)};",
            "}",
        ]
    for variable in net.variables:
        table = variable.table()
        if not variable.parents:
            lines += [f"probability ( {variable.name} ) {{", f"  table {1 - table[0]!r}, {table[0]!r};", "}"]
            continue
        lines.append(f"probability ( {variable.name} | {', '.join(names[p] for p in variable.parents)} ) {{")
        width = len(variable.parents)
        for row, p in enumerate(table):
            states = ", ".join("yes" if row >> (width - 1 - bit) & 1 else "no" for bit in range(width))
            lines.append(f"  ( {states} ) {1 - p!r}, {p!r};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    # the format has no escape for quotes, and readers split at semicolons and braces
    plain = text.translate(str.maketrans('";{}|\\', "',()//"))
    return '"' + " ".join(plain.split()) + '"'


# -- ProbLog


def problog(net: BayesNet) -> str:
    """Write the net as a ProbLog program whose query is the root.

    A linear rule is an annotated disjunction over which child decides (paper A, App. B), a formula its clauses, a
    noisy-or its causes and inhibitors. Size grows with the tree, not with 2^children.
    """
    lines = [f"% {note}" for note in net.notes]
    for variable in net.variables:
        lines += [f"% {variable.id}: {' '.join(variable.statement.split())}", *_clauses(variable), ""]
    return "\n".join([*lines, f"query({net.variables[0].name.lower()}).", ""])


def _clauses(variable: Variable) -> list[str]:
    # To ProbLog a name with a capital first letter is a variable.
    head = variable.name.lower()
    if variable.rule is None:
        assert variable.prior is not None
        return [f"{decimal(variable.prior)}::{head}."]
    atoms = {child: child.replace(".", "_").lower() for child in variable.parents}
    clauses = variable.rule.problog_clauses(head, atoms)
    if clauses is not None:
        return clauses
    # a rule without clauses of its own: one per row of its table, whose bodies exclude each other
    names, width = list(atoms.values()), len(atoms)
    return [
        f"{decimal(p)}::{head} :- "
        + ", ".join(name if row >> (width - 1 - bit) & 1 else f"\\+{name}" for bit, name in enumerate(names))
        + "."
        for row, p in enumerate(variable.table())
    ]
