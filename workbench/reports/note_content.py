"""Fold a run's log and ledgers into the values of its note, once, so that no two documents of it can differ.

Every number is text here already, written as all screens write it. Texts of models and people are as they came: whoever
makes a document of them escapes or cleans them for it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
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
from workbench.reports.note_evidence import LONGEST_REPORT, NoteEvidence, leaf_evidence, shown_words
from workbench.store import ApiLedger, ModelLedger, Store, utc_now
from workbench.synthesis.sensitivity.assumptions import assumption_detail
from workbench.synthesis.whatif.evaluation import reachable_ranges
from workbench.templates import brief
from workbench.terminal import printable
from workbench.views.answer import answer_sentence
from workbench.views.direct_forecasts import direct_forecasts, direct_lines
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
from workbench.whatif.band import Band, no_band_reason, past_windows, run_band
from workbench.whatif.run_sensitivity import leaf_trials
from workbench.whatif.stored_reports import run_base_rate
from workbench.whatif.tree_documents import scenario_table, sensitivity_report

#: Drivers in the chart.
TOP_DRIVERS = 10
#: Leaves whose evidence is in the note; a run of a thousand leaves has its package for the rest.
MOST_EVIDENCE = 40
#: Propositions in the table of the tree; of a larger tree only those on the way to the leaves above.
MOST_ROWS = 200
#: Drivers on a note of one page.
ONE_PAGE_DRIVERS = 5
_FINE = {"ok": "holds", "warn": "look", "bad": "FAILS"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeRow:
    """A proposition in the table of the tree; ``depth`` counts from 0 at the claim."""

    id: NodeId
    depth: int
    statement: str
    p: float | None
    rule: str | None
    remarks: list[str]
    key_factor: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Driver:
    """A leaf by how far it moves the claim: the claim's p if the leaf is false, and if it is true."""

    id: NodeId
    statement: str
    p: float | None
    if_false: float
    if_true: float

    @property
    def low(self) -> float:
        """Least of the two ends."""
        return min(self.if_false, self.if_true)

    @property
    def high(self) -> float:
        """Greatest of the two ends."""
        return max(self.if_false, self.if_true)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioRow:
    """A saved what-if: the claim's p under it, the difference to the base, and the author's reason."""

    name: str
    root: float | None
    gap: str
    probability: str
    why: str
    author: str
    edits: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteReading:
    """A series or endpoint that the run read, with the leaves that did."""

    path: str
    asked_for: str
    nodes: str
    as_of: str
    dropped: int
    residual: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """All values of a note, in the order in which it prints them."""

    statement: str
    run_id: str
    judged: str
    p: float | None
    base_rate: float | None
    gap: str | None
    band: Band | None
    #: Why there is none.
    no_band: str
    record: str | None
    #: The claim's series with its fan where the run has one, as `workbench.views.fan_chart` draws it.
    fan: Mapping[str, Any] | None
    outcome: str | None
    warnings: list[str]
    summary: list[str]
    rows: list[TreeRow]
    rows_left_out: int
    drivers: list[Driver]
    drivers_left_out: int
    reachable: tuple[float, float] | None
    scenarios: list[ScenarioRow]
    mix: str | None
    evidence: list[NoteEvidence]
    evidence_left_out: list[NodeId]
    checks: list[tuple[str, str, str]]
    comments: list[str]
    estimates: list[str]
    notes: list[str]
    tags: list[str]
    sign_offs: list[str]
    checklist: list[tuple[str, bool]]
    readings: list[NoteReading]
    manifest_id: str
    facts: list[tuple[str, str]]
    figures: list[tuple[str, str]]
    #: The answer in one sentence that can be read aloud.
    sentence: str
    #: What reports show for comparison and give no weight: driver, and the sentence.
    compared: list[tuple[NodeId, str]] = field(default_factory=list)
    #: Every model call, where it was asked for: its heading, and its parts by the name of who said each.
    transcript: list[tuple[str, list[tuple[str, str]]]] = field(default_factory=list)
    #: Only what fits a page: the answer, the series, what it hinges on.
    one_page: bool = False

    @property
    def mark(self) -> str:
        """The id printed at every figure: a figure cut out of the note still leads to its run."""
        return f"manifest {self.manifest_id[:19]}"

    @property
    def band_words(self) -> str:
        """The band in a few words; its source is among the facts at the end."""
        if self.band is None:
            return "" if self.p is None else f"none: {self.no_band}"
        if self.band.is_point:
            return f"the {self.band.repeats} agree, which is no certainty"
        return f"{percent(self.band.low)} to {percent(self.band.high)}, spread of {self.band.repeats}"

    @property
    def headline(self) -> str:
        """The claim's probability beside its base rate, as one line."""
        beside = f", base rate {percent(self.base_rate)} ({self.gap})" if self.gap else ""
        return f"{percent(self.p)}{beside}"


def note_of(store: Store, state: RunState, *, with_transcript: bool = False, one_page: bool = False) -> Note:
    """Fold the note of a run from its log and ledgers; ``with_transcript`` adds all model calls as an appendix.

    ``one_page`` keeps what a reader decides by: the answer, the series, the strongest drivers.
    """
    tree = state.tree
    drivers, reachable, band, tornado = _drivers(store, state)
    shown_leaves = _leaves_by_effect(tree, drivers)
    without_data = leaves_without_data(store, state)
    evidence = [
        leaf_evidence(store, state, leaf, without_data.get(leaf, ""))
        for leaf in ([] if one_page else shown_leaves[:MOST_EVIDENCE])
    ]
    rows = _tree_rows(tree, shown_leaves[:MOST_EVIDENCE])
    audit = audit_run(store, state.run_id, state)
    base_rate = run_base_rate(state)
    p = tree.root.p
    annotations = state.annotations
    scenarios, mix, table = _scenarios(state)
    signed = sign_off_rows(store, state)
    view = view_of(store, state)
    record = view.record()
    return Note(
        statement=shown_words(state.statement),
        run_id=state.run_id,
        judged=f"Uses data available {_known(state)}",
        p=p,
        base_rate=base_rate,
        gap=None if p is None or base_rate is None else point_change(base_rate, p),
        band=band,
        no_band=no_band_reason(state) if band is None else "",
        record=None if record is None else record["line"],
        fan=view.series(),
        outcome=None if annotations.outcome is None else outcome_line(annotations.outcome.to_json(p)),
        warnings=_warnings(state, store.folder(state.run_id), without_data),
        summary=_summary(view, drivers, scenarios, audit, reachable, without_data),
        rows=rows,
        rows_left_out=len(tree.ids()) - len(rows),
        drivers=drivers[: (most := ONE_PAGE_DRIVERS if one_page else TOP_DRIVERS)],
        drivers_left_out=max(0, len(drivers) - most),
        reachable=reachable,
        scenarios=scenarios,
        mix=mix,
        evidence=[
            leaf for leaf in evidence if leaf.key_factor or leaf.report or leaf.plots or leaf.without_data
        ],
        evidence_left_out=shown_leaves[MOST_EVIDENCE:],
        checks=[(check["name"], _FINE[check["verdict"]], check["found"]) for check in audit["checks"]],
        comments=[remark_line(comment) for comment in annotations.comments],
        estimates=[printable(line, keep="") for row in estimate_rows(state) for line in estimate_lines(row)],
        notes=[remark_line(remark) for remark in annotations.notes],
        tags=list(annotations.tags),
        sign_offs=[sign_off_line(row) for row in signed],
        checklist=[
            (CHECKLIST.get(key, key), is_done)
            for key, is_done in (signed[-1]["checklist"] if signed else {}).items()
        ],
        readings=_readings(store, state),
        manifest_id=manifest_id(store, state.run_id) or "none: the run has not begun its work",
        facts=[
            *_facts(store, state),
            *([("band", band.line())] if band is not None else []),
            *([(name, meaning(name)) for name in ("Brier Index", "independent")] if record else []),
        ],
        figures=full_figures(
            tree,
            [row.id for row in rows],
            tornado=tornado,
            reachable=reachable,
            base_rate=base_rate,
            band=band,
            scenarios=table,
            trials=leaf_trials(state),
            by_chance={
                leaf: windows.band(tree[leaf].p or 0.0) for leaf, windows in past_windows(tree).items()
            },
        ),
        sentence="" if p is None else answer_sentence(tree, base_rate),
        compared=[(leaf.id, line) for leaf in evidence for line in leaf.compared],
        transcript=_transcript(store, state) if with_transcript else [],
        one_page=one_page,
    )


def _transcript(store: Store, state: RunState) -> list[tuple[str, list[tuple[str, str]]]]:
    return [
        (call_heading(call), [(name, brief(text, LONGEST_REPORT)) for name, text in call_parts(call)])
        for call in transcript(store, state)["calls"]
    ]


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
            f"UNFINISHED: the run is {phase_here(state.phase, folder)}; what follows is as far as it has come"
        )
    return [line for line in lines if line]


def _drivers(
    store: Store, state: RunState
) -> tuple[list[Driver], tuple[float, float] | None, Band | None, list[dict[str, Any]]]:
    tree = state.tree
    if tree.root.p is None:
        return [], None, None, []
    report = sensitivity_report(tree)
    drivers = []
    for row in report["tornado"]:
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
    low, high = report["reachable"]
    reachable = None if low is None or high is None else (low, high)
    return drivers, reachable, run_band(store, state), report["tornado"]


def _leaves_by_effect(tree: Tree, drivers: Sequence[Driver]) -> list[NodeId]:
    # A rule's assumption (P2.PA) drives the claim too, and is no leaf.
    order = dict.fromkeys(driver.id for driver in drivers if driver.id in tree)
    return [*order, *(leaf for leaf in tree.leaves() if leaf not in order and tree[leaf].belief)]


def _tree_rows(tree: Tree, leaves: Sequence[NodeId]) -> list[TreeRow]:
    ids = list(tree.ids())
    if len(ids) > MOST_ROWS:
        chosen = {tree.root.id, *leaves, *(above for leaf in leaves for above in tree.ancestors(leaf))}
        ids = [node for node in ids if node in chosen]
    rows, spans = [], reachable_ranges(tree)
    for node in ids:
        proposition = tree[node]
        belief = proposition.belief
        rows.append(
            TreeRow(
                id=node,
                depth=len(list(tree.ancestors(node))),
                statement=shown_words(proposition.statement),
                p=belief.p if belief else None,
                rule=equation_with_values(tree, node),
                remarks=rule_remarks(proposition.rule, spans[node]),
                key_factor=shown_words(belief.key_factor) if belief else "",
            )
        )
    return rows


def _scenarios(state: RunState) -> tuple[list[ScenarioRow], str | None, dict[str, Any] | None]:
    if not state.scenarios.scenarios or state.missing:  # without its rule nothing can be computed
        return [], None, None
    table = scenario_table(state.tree, state.scenarios, now=utc_now())
    base = state.tree.root.p
    rows = []
    for row in table["scenarios"]:
        if not row["edits"] and not row["rationale"]:
            continue  # a draft whose edits were all taken back: it is the run as it stands
        root = row["root"]
        remarks = [f"stale at {', '.join(row['stale'])}"] if row["stale"] else []
        remarks += [f"expired: {', '.join(row['expired'])}"] if row["expired"] else []
        remarks += [row["band"]["line"]] if "band" in row else []
        edits = [edit_words(state.tree, edit) for edit in state.scenarios[row["name"]].edits]
        rows.append(
            ScenarioRow(
                name=row["name"],
                root=root,
                gap=NO_VALUE if root is None or base is None else point_change(base, root),
                probability=NO_VALUE if row["probability"] is None else percent(row["probability"]),
                why=row["rationale"],
                author=", ".join(part for part in (row["author"], row["at"][:10]) if part),
                edits=[*edits, *remarks],
            )
        )
    mixture = table["mix"]
    if mixture is None:
        return rows, None, table
    shares = ", ".join(f"{name} {percent(share)}" for name, share in mixture["weights"].items())
    return (
        rows,
        f"Weighted by their probabilities ({shares}), the scenarios put the claim at {percent(mixture['root'])}.",
        table,
    )


def _readings(store: Store, state: RunState) -> list[NoteReading]:
    groups: dict[tuple[str, str], list[Any]] = {}
    for row in ApiLedger(store).rows(state.run_id):
        # By name: the parameters of one endpoint in another order ask for the same.
        asked_for = ", ".join(f"{name}={value}" for name, value in sorted(row.asked.items()))
        groups.setdefault((row.path, asked_for), []).append(row)
    readings = []
    for (path, asked_for), rows in groups.items():
        answered = [row for row in rows if row.answer is not None]
        refused = next((row.refused for row in rows if row.answer is None), None)
        dates = dict.fromkeys(str(row.answer.meta.get("as_of", "")) for row in answered)
        risks = dict.fromkeys(str(row.answer.meta.get("residual", "")) for row in answered)
        nodes = dict.fromkeys(row.address.node for row in rows)
        readings.append(
            NoteReading(
                path=path,
                asked_for=asked_for[:300],
                nodes=", ".join(islice(nodes, 8)) + (f" and {len(nodes) - 8} more" if len(nodes) > 8 else ""),
                as_of=", ".join(date[:16].replace("T", " ") for date in dates if date)
                or f"refused: {refused}",
                dropped=sum(row.rows_dropped for row in answered),
                residual=", ".join(risk for risk in risks if risk),
            )
        )
    return readings


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
    scenarios: Sequence[ScenarioRow],
    audit: Mapping[str, Any],
    reachable: tuple[float, float] | None,
    without_data: Collection[NodeId],
) -> list[str]:
    """Write the note in a few sentences, from its numbers alone."""
    state, tree = view.state, view.tree
    p = tree.root.p
    if p is None:
        return ["The claim has no probability yet."]
    beside = _beside_base_rate(p, view.base_rate)
    lines = [f"We put the probability at {percent(p)}, using only data available {_known(state)}. {beside}"]
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


def _beside_base_rate(p: float, base_rate: float | None) -> str:
    if base_rate is None:
        return "No base rate is known."
    gap = point_change(base_rate, p)
    if gap.startswith("0.0"):
        return f"That is the base rate, {percent(base_rate)}: how often such claims came true in the past."
    side = "below" if gap[0] not in "+0123456789" else "above"
    return (
        f"That is {gap.lstrip('+−')} {side} the base rate of {percent(base_rate)},"
        " which is how often such claims came true in the past."
    )


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


def _spread_of(scenarios: Sequence[ScenarioRow]) -> list[str]:
    rooted = sorted((row.root, row.name) for row in scenarios if row.root is not None)
    if not rooted:
        return []
    (low, lowest), (high, highest) = rooted[0], rooted[-1]
    if len(rooted) == 1:
        return [f"In the scenario “{lowest}” the claim is at {percent(low)}."]
    return [
        f"Over {len(rooted)} scenarios the claim ranges from {percent(low)} (“{lowest}”) to {percent(high)} (“{highest}”)."
    ]


def _audited(audit: Mapping[str, Any]) -> str:
    checks = audit["checks"]
    bad = [check["name"] for check in checks if check["verdict"] == "bad"]
    look = [check["name"] for check in checks if check["verdict"] == "warn"]
    if bad:
        return f"THE AUDIT FAILS at: {', '.join(bad)}. Do not rely on this note before that is explained."
    verdict = f"The audit of the run's own records holds in all {len(checks)} points"
    return f"{verdict}; worth a look: {', '.join(dict.fromkeys(look))}." if look else f"{verdict}."
