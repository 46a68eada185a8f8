"""Fold a run's log and ledgers into the one tree of its note."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from workbench.annotations.entries import CHECKLIST, sign_off_rows
from workbench.annotations.estimates import estimate_rows
from workbench.audit.data_read import leaves_without_data
from workbench.audit.run_audit import audit_run
from workbench.audit.run_findings import finding_lines, run_findings
from workbench.engine.hindsight import hindsight
from workbench.engine.ownership import phase_here
from workbench.engine.record.run_files import manifest_id
from workbench.engine.record.state import IMPORTED_TREE, RunState
from workbench.formatting import NO_VALUE, counted, day_words, meaning, percent, point_change, sandbox_words
from workbench.propositions import NodeId, Tree
from workbench.reports.full_figures import full_figures
from workbench.reports.note_evidence import LONGEST_REPORT, leaf_evidence, shown_words
from workbench.reports.note_tree import (
    Block,
    Cell,
    Driver,
    Drivers,
    Heading,
    Headline,
    Items,
    Note,
    Series,
    Table,
    Text,
    Verbatim,
    table_rows,
)
from workbench.store import ApiLedger, ModelLedger, Store, utc_now
from workbench.synthesis.sensitivity.assumptions import assumption_detail
from workbench.synthesis.whatif.evaluation import reachable_ranges
from workbench.templates import brief
from workbench.terminal import printable
from workbench.views.answer import answer_sentence, direct_forecasts, direct_lines
from workbench.views.fan_chart import NO_SERIES
from workbench.views.run_view import RunView, view_of
from workbench.views.transcript import call_heading, call_parts, transcript
from workbench.views.wording import (
    edit_words,
    equation_with_values,
    estimate_lines,
    outcome_line,
    remark_line,
    rule_remarks,
    sign_off_line,
)
from workbench.whatif.band import Band, no_band_reason, run_band
from workbench.whatif.tree_documents import scenario_table, sensitivity_report

#: Drivers in the chart.
TOP_DRIVERS = 10
#: Leaves whose evidence is in the note; a run of a thousand leaves has its package for the rest.
MOST_EVIDENCE = 40
#: Propositions in the table of the tree; of a larger tree only those on the way to the leaves above.
MOST_ROWS = 200
#: Drivers on a note of one page.
ONE_PAGE_DRIVERS = 5
_FINE = {"ok": "holds", "warn": "look", "bad": "fails"}
_HOW_TO_READ = (
    "A probability here is a degree of belief, from 0% to 100%. A driver without others below it comes from a notebook that ran "
    "sealed off and could read only what was published before the cutoff; rows that came later were withheld and are counted "
    "above. A driver with others below it is computed from them by the rule shown, so every number can be recomputed by hand. The "
    "base rate is how often claims of this kind came true before. Nothing here is a confidence interval of the event, and nothing "
    "here is advice."
)


def note_of(store: Store, state: RunState, *, with_transcript: bool = False, one_page: bool = False) -> Note:
    """Fold the note of a run from its log and ledgers; ``with_transcript`` adds all model calls as an appendix.

    ``one_page`` keeps what a reader decides by: the answer, the series, the strongest drivers.
    """
    tree, view = state.tree, view_of(store, state)
    sensitivity = None if tree.root.p is None else sensitivity_report(tree)
    drivers = _drivers(tree, sensitivity)
    band = None if tree.root.p is None else run_band(store, state)
    audit = audit_run(store, state.run_id, state)
    without_data = leaves_without_data(store, state)
    scenarios = _scenario_table(state)
    reachable = _reachable(sensitivity)
    summary = _summary(view, drivers, scenarios, audit, reachable, without_data)
    blocks = [
        *_answer(store, view, band, without_data),
        *(Text(line) for line in (summary[:1] if one_page else summary)),
        Heading("The series"),
        Text(NO_SERIES, "soft") if (fan := view.series()) is None else Series(fan),
    ]
    if one_page:
        blocks += _hinges(tree, drivers, ONE_PAGE_DRIVERS)
        blocks.append(
            Text(f"Tree, evidence and audit are in the whole note (workbench export {state.run_id}).", "soft")
        )
    else:
        shown_leaves = _leaves_by_effect(tree, drivers)
        rows = _rows_shown(tree, shown_leaves[:MOST_EVIDENCE])
        blocks += _tree(tree, rows)
        blocks += _hinges(tree, drivers, TOP_DRIVERS)
        blocks += _scenarios(state, scenarios)
        evidence, compared = _evidence(store, state, shown_leaves, without_data)
        blocks += [*evidence, *_audit(audit), *_review(store, state), *_readings(store, state)]
        blocks += [
            *_rests_on(store, view, band),
            Heading("Every number in full"),
            Text("What stands rounded above, with all its digits.", "soft"),
            Table(
                ("of", "with all digits"),
                table_rows(full_figures(state, rows, sensitivity, view.base_rate, band, scenarios)),
                (0.2, 0.8),
                "figures",
            ),
            *compared,
            *(_transcript(store, state) if with_transcript else ()),
        ]
    return Note(
        title=shown_words(state.statement),
        run_id=state.run_id,
        manifest_id=manifest_id(store, state.run_id) or "none: the run has not begun its work",
        blocks=blocks,
        one_page=one_page,
    )


def _answer(
    store: Store, view: RunView, band: Band | None, without_data: Mapping[NodeId, str]
) -> Iterable[Block]:
    state, p, base_rate = view.state, view.tree.root.p, view.base_rate
    yield Text(" · ".join([f"Uses data available {_known(state)}", *state.annotations.tags]), "soft")
    for line in _warnings(state, store.folder(state.run_id), without_data):
        yield Text(line, "alarm")
    if p is not None:
        yield Text(answer_sentence(view.tree, base_rate), "sentence")
    facts = [("base rate", "none is known" if base_rate is None else percent(base_rate))]
    if band is not None and band.is_point:
        facts.append(("band", f"the {band.repeats} agree, which is no certainty"))
    elif band is not None:
        facts.append(("band", f"{percent(band.low)} to {percent(band.high)}, spread of {band.repeats}"))
    elif p is not None:
        facts.append(("band", f"none: {no_band_reason(state)}"))
    if (record := view.record()) is not None:
        facts.append(("record", record["line"]))
    if (outcome := state.annotations.outcome) is not None:
        facts.append(("outcome", outcome_line(outcome.to_json(p)).removeprefix("Outcome: ")))
    yield Headline(percent(p), facts)


def _warnings(state: RunState, folder: Path, without_data: Mapping[NodeId, str]) -> list[str]:
    lines = [
        state.not_installed(),
        *hindsight(state.settings, state.parsed_cutoff()),
        state.unverified_line(),
        *finding_lines(run_findings(state, without_data)),
        state.late_line(),
        state.imported.line() if state.imported else None,
    ]
    if state.tree.root.p is None:
        lines.append(
            f"Unfinished: the run is {phase_here(state.phase, folder)}; what follows is as far as it has come"
        )
    return [line for line in lines if line]


def _drivers(tree: Tree, sensitivity: Mapping[str, Any] | None) -> list[Driver]:
    drivers = []
    for row in () if sensitivity is None else sensitivity["tornado"]:
        if row["low"] is None or row["high"] is None or not row["path_weight"]:
            continue
        ends = (row["low"], row["high"])
        if_false, if_true = ends if row["path_weight"] > 0 else ends[::-1]
        drivers.append(
            Driver(
                id=row["id"],
                statement=shown_words(assumption_detail(tree, row["id"])),
                p=row["p"],
                if_false=if_false,
                if_true=if_true,
            )
        )
    return drivers


def _reachable(sensitivity: Mapping[str, Any] | None) -> tuple[float, float] | None:
    low, high = (None, None) if sensitivity is None else sensitivity["reachable"]
    return None if low is None or high is None else (low, high)


def _leaves_by_effect(tree: Tree, drivers: Sequence[Driver]) -> list[NodeId]:
    # A rule's assumption (P2.PA) drives the claim too, and is no leaf.
    order = dict.fromkeys(driver.id for driver in drivers if driver.id in tree)
    return [*order, *(leaf for leaf in tree.leaves() if leaf not in order and tree[leaf].belief)]


def _rows_shown(tree: Tree, leaves: Sequence[NodeId]) -> list[NodeId]:
    ids = list(tree.ids())
    if len(ids) <= MOST_ROWS:
        return ids
    chosen = {tree.root.id, *leaves, *(above for leaf in leaves for above in tree.ancestors(leaf))}
    return [node for node in ids if node in chosen]


def _tree(tree: Tree, ids: Sequence[NodeId]) -> Iterable[Block]:
    rows, spans = [], reachable_ranges(tree)
    for node in ids:
        proposition = tree[node]
        rule = equation_with_values(tree, node)
        below = [f"= {rule}"] if rule else []
        below += rule_remarks(proposition.rule, spans[node])
        if proposition.belief and proposition.belief.key_factor:
            below.append(shown_words(proposition.belief.key_factor))
        depth = len(list(tree.ancestors(node)))
        statement = Cell(id=node, text=shown_words(proposition.statement), below=below, depth=depth)
        rows.append([statement, Cell(text=percent(proposition.p), share=proposition.p)])
    yield Heading("The tree")
    yield Text(
        "A driver follows from those indented below it, by the sum or formula under it. A driver with none below it was examined by itself.",
        "soft",
    )
    yield Table(("claim and drivers", "probability"), rows, (0.84, 0.16), "tree", numbers=(1,))
    if left_out := len(tree.ids()) - len(ids):
        yield Text(f"{counted(left_out, 'more driver')}, which move the claim less, are not listed.", "soft")


def _hinges(tree: Tree, drivers: Sequence[Driver], most: int) -> Iterable[Block]:
    if not drivers:
        return
    yield Heading("What it hinges on")
    yield Text(
        "Where the claim would stand if one driver turned out false or true and all others stayed as they are.",
        "soft",
    )
    yield Drivers(tree.root.p or 0.0, drivers[:most])
    if len(drivers) > most:
        yield Text(f"{counted(len(drivers) - most, 'more driver')} move it less than these.", "soft")


def _scenario_table(state: RunState) -> dict[str, Any] | None:
    if not state.scenarios.scenarios or state.missing:  # without its rule nothing can be computed
        return None
    return scenario_table(state.tree, state.scenarios, now=utc_now())


def _held(table: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    # A draft whose edits were all taken back is the run as it stands.
    return [row for row in table["scenarios"] if row["edits"] or row["rationale"]] if table else []


def _scenarios(state: RunState, table: Mapping[str, Any] | None) -> Iterable[Block]:
    if table is None or not _held(table):
        return
    base = state.tree.root.p
    rows = table_rows([("base", percent(base), "", "", "nothing is changed")])
    for row in _held(table):
        below = [edit_words(state.tree, edit) for edit in state.scenarios[row["name"]].edits]
        below += [f"stale at {', '.join(row['stale'])}"] if row["stale"] else []
        below += [f"expired: {', '.join(row['expired'])}"] if row["expired"] else []
        below += [row["band"]["line"]] if "band" in row else []
        below += [author] if (author := ", ".join(filter(None, (row["author"], row["at"][:10])))) else []
        root = row["root"]
        gap = NO_VALUE if root is None or base is None else point_change(base, root)
        words = table_rows([(row["name"], percent(root), gap, percent(row["probability"]))])[0]
        rows.append([*words, Cell(text=row["rationale"] or "no reason was written", below=below)])
    yield Heading("Scenarios")
    head = ("scenario", "claim", "from the base", "probability", "why, and what it changes")
    yield Table(head, rows, (0.18, 0.1, 0.15, 0.11, 0.46), "wide", numbers=(1, 2, 3))
    if (mixture := table["mix"]) is not None:
        shares = ", ".join(f"{name} {percent(share)}" for name, share in mixture["weights"].items())
        yield Text(
            f"Weighted by their probabilities ({shares}), the scenarios put the claim at {percent(mixture['root'])}."
        )


def _evidence(
    store: Store, state: RunState, leaves: Sequence[NodeId], without_data: Mapping[NodeId, str]
) -> tuple[list[Block], list[Block]]:
    """Return the part on the evidence, and the appendix of what reports show without giving it weight."""
    shown: list[Block] = []
    compared: list[tuple[str, str]] = []
    for leaf in leaves[:MOST_EVIDENCE]:
        blocks, lines = leaf_evidence(store, state, leaf, without_data.get(leaf, ""))
        shown += blocks
        compared += [(leaf, line) for line in lines]
    if left_out := len(leaves[MOST_EVIDENCE:]):
        shown.append(
            Text(f"{counted(left_out, 'more driver')}, which move the claim less, are left out here.", "soft")
        )
    appendix: list[Block] = [
        Heading("Appendix: shown for comparison"),
        Text(
            "Other forecasts that the notebooks print beside their answer. They have no weight in it.", "soft"
        ),
        Table((), table_rows(compared), (0.14, 0.86), "facts"),
    ]
    evidence = [Heading("Evidence"), *(shown or [Text("No driver has evidence on record.")])]
    return evidence, appendix if compared else []


def _audit(audit: Mapping[str, Any]) -> Iterable[Block]:
    rows = [(check["name"], _FINE[check["verdict"]], check["found"]) for check in audit["checks"]]
    yield Heading("Audit")
    yield Text(
        "Checks of the run against its own records, made when this note was written. Anybody with the run's package can repeat them without a network.",
        "soft",
    )
    yield Table(("check", "verdict", "what it says"), table_rows(rows), (0.24, 0.1, 0.66), "checks")


def _review(store: Store, state: RunState) -> Iterable[Block]:
    annotations, signed = state.annotations, sign_off_rows(store, state)
    done = (signed[-1]["checklist"] if signed else {}).items()
    parts = {
        "Sign-off": [sign_off_line(row) for row in signed],
        "Checklist of the last sign-off": [
            f"{'done' if is_done else 'OPEN'}: {CHECKLIST.get(key, key)}" for key, is_done in done
        ],
        "Comments": [remark_line(comment) for comment in annotations.comments],
        "Estimates": [
            printable(line, keep="") for row in estimate_rows(state) for line in estimate_lines(row)
        ],
        "Notes": [remark_line(remark) for remark in annotations.notes],
    }
    if any(parts.values()):
        yield Heading("Review")
    for title, lines in parts.items():
        if lines:
            yield Heading(title, 2)
            yield Items(lines)


def _readings(store: Store, state: RunState) -> Iterable[Block]:
    groups: dict[tuple[str, str], list[Any]] = {}
    for row in ApiLedger(store).rows(state.run_id):
        # By name: the parameters of one endpoint in another order ask for the same.
        asked_for = ", ".join(f"{name}={value}" for name, value in sorted(row.asked.items()))
        groups.setdefault((row.path, asked_for), []).append(row)
    if not groups:
        return
    readings = []
    for (path, asked_for), rows in groups.items():
        answered = [row for row in rows if row.answer is not None]
        refused = next((row.refused for row in rows if row.answer is None), None)
        dates = dict.fromkeys(str(row.answer.meta.get("as_of", "")) for row in answered)
        risks = dict.fromkeys(str(row.answer.meta.get("residual", "")) for row in answered)
        nodes = dict.fromkeys(row.address.node for row in rows)
        as_of = ", ".join(date[:16].replace("T", " ") for date in dates if date)
        readings.append(
            (
                path,
                asked_for[:300],
                ", ".join(islice(nodes, 8)) + (f" and {len(nodes) - 8} more" if len(nodes) > 8 else ""),
                as_of or f"refused: {refused}",
                str(sum(row.rows_dropped for row in answered)),
                ", ".join(filter(None, risks)),
            )
        )
    yield Heading("Data that was read")
    head = ("source", "asked for", "by", "as of", "rows withheld", "risk of later knowledge")
    yield Table(head, table_rows(readings), (0.27, 0.2, 0.16, 0.16, 0.1, 0.11), "wide", numbers=(4,))


def _rests_on(store: Store, view: RunView, band: Band | None) -> Iterable[Block]:
    names = ("Brier Index", "independent") if view.record() else ()
    facts = [
        ("manifest id", manifest_id(store, view.state.run_id) or "none: the run has not begun its work"),
        *_facts(store, view.state),
        *([("band", band.line())] if band is not None else []),
        *((name, meaning(name)) for name in names),
    ]
    yield Heading("How to read this, and what it rests on")
    yield Text(_HOW_TO_READ)
    yield Table((), table_rows(facts), (0.24, 0.76), "facts")


def _transcript(store: Store, state: RunState) -> Iterable[Block]:
    calls = transcript(store, state)["calls"]
    if calls:
        yield Heading("Appendix: every model call")
    for call in calls:
        yield Heading(call_heading(call), 2)
        for name, text in call_parts(call):
            yield Verbatim(name, brief(text, LONGEST_REPORT))


def _facts(store: Store, state: RunState) -> list[tuple[str, str]]:
    models, settings = ModelLedger(store), state.settings
    cost = models.cost(state.run_id)
    from_file = settings.model == IMPORTED_TREE
    facts = [
        ("run", state.run_id),
        ("begun", state.started_utc[:19].replace("T", " ") + " UTC"),
        ("cutoff", f"{state.cutoff} (before {state.cutoff_instant}, exclusive)"),
        (
            "model",
            "none: a tree from a file"
            if from_file
            else ", ".join(dict.fromkeys((*state.models, *settings.direct_models))),
        ),
        ("synthesis", "as the file says" if from_file else settings.rule),
        ("forecasts per driver", str(settings.trials)),
        ("sandbox", sandbox_words(state.isolation)),
        (
            "model calls",
            f"{models.count(state.run_id)} ({'price unknown' if cost is None else f'${cost:.4f}'})",
        ),
        ("data calls", str(ApiLedger(store).count(state.run_id))),
    ]
    if notes := (state.read_as or {}).get("notes"):
        facts.append(("reading", "; ".join(notes)))
    if lines := direct_lines(direct_forecasts(state)):
        facts.append(("forecast without drivers", "; ".join(lines)))
    if news := state.news_line():
        facts.append(("news", news))
    return facts


# --- the summary in words -----------------------------------------------------------------------------------------------


def _summary(
    view: RunView,
    drivers: Sequence[Driver],
    scenarios: Mapping[str, Any] | None,
    audit: Mapping[str, Any],
    reachable: tuple[float, float] | None,
    without_data: Collection[NodeId],
) -> list[str]:
    """Write the note in a few sentences, from its numbers alone."""
    state, tree = view.state, view.tree
    p = tree.root.p
    if p is None:
        return ["The claim has no probability yet."]
    lines = []
    if tree.root.belief is not None and tree.root.belief.key_factor:
        lines.append(f"Key factor: {shown_words(tree.root.belief.key_factor)}")
    lines.append(_build(state, without_data))
    lines += _strongest(drivers, reachable)
    lines += _spread_of(scenarios)
    return [*lines, _audited(audit), *([f"Since the run before: {view.since}."] if view.since else [])]


def _known(state: RunState) -> str:
    if state.parsed_cutoff().live:
        return f"on {state.cutoff_instant[:16].replace('T', ' ')} UTC"
    return f"before {day_words(state.cutoff) if len(state.cutoff) == 10 else state.cutoff}"


def _build(state: RunState, without_data: Collection[NodeId]) -> str:
    tree = state.tree
    count, leaves = len(tree.ids()), len(tree.leaves())
    if not tree.root.children:
        return "The claim was analyzed without drivers."
    concluded = {node for (node, _), trial in state.trials.items() if trial.belief}
    if not concluded:
        return f"The tree of {count} statements was imported from a file, without evidence collected here."
    verified = [leaf for leaf in concluded if state.verified(leaf)]
    rerun = (
        "Each notebook was run a second time with the same result."
        if len(verified) == len(concluded)
        else f"{len(verified)} of {len(concluded)} notebooks were run a second time with the same result."
    )
    unread = f" ({counted(len(without_data), 'driver')} read no data)" if without_data else ""
    combined = " The others are combined from the drivers below them." if leaves < count - 1 else ""
    return (
        f"The claim has {counted(count - 1, 'driver')}. Evidence for {leaves} of them comes from data published before the"
        f" cutoff{unread}. {rerun}{combined}"
    )


def _strongest(drivers: Sequence[Driver], reachable: tuple[float, float] | None) -> list[str]:
    if not drivers:
        return []
    first, *runners_up = drivers[:3]
    if percent(first.if_false) == percent(first.if_true):
        return ["No single driver moves the claim by a tenth of a point."]
    line = (
        f"The claim depends most on “{first.statement}”: its probability would be {percent(first.if_false)} if that driver"
        f" were false and {percent(first.if_true)} if it were true."
    )
    if runners_up:
        named = " and ".join(
            f"“{driver.statement}” ({percent(driver.if_false)} to {percent(driver.if_true)})"
            for driver in runners_up
        )
        line += f" Next: {named}."
    if reachable is not None:
        line += f" Over all values of the drivers the claim lies between {percent(reachable[0])} and {percent(reachable[1])}."
    return [line]


def _spread_of(scenarios: Mapping[str, Any] | None) -> list[str]:
    rooted = sorted((row["root"], row["name"]) for row in _held(scenarios) if row["root"] is not None)
    if len(rooted) < 2:
        return []
    (low, lowest), (high, highest) = rooted[0], rooted[-1]
    return [
        f"Over {len(rooted)} scenarios the claim ranges from {percent(low)} (“{lowest}”) to {percent(high)} (“{highest}”)."
    ]


def _audited(audit: Mapping[str, Any]) -> str:
    checks = audit["checks"]
    bad = [check["name"] for check in checks if check["verdict"] == "bad"]
    look = [check["name"] for check in checks if check["verdict"] == "warn"]
    if bad:
        return f"The audit fails at: {', '.join(bad)}. Do not rely on this note before that is explained."
    verdict = f"The audit of the run's own records holds in all {len(checks)} points"
    return f"{verdict}; worth a look: {', '.join(dict.fromkeys(look))}." if look else f"{verdict}."
