"""Have a model of another family read a finished run: score its reports, test its own model's memory, and find facts known too early.

Nothing of the run is changed. Scores and memories are asked for anew each time; the audit for leaks is put on record, since
``audit`` counts the texts that both that model and the date rules call late.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from proxies.asof.asof_text import without_later
from proxies.asof.clock import Cutoff
from proxies.input_files import MOST_TEXT_BYTES, InputRefused, parse_csv_rows, read_text
from proxies.ledger import LedgerRow
from workbench.agents.errors import AgentGaveUp
from workbench.agents.judges import (
    BATCH,
    DIMENSIONS,
    LEAK_VERDICTS,
    TEXT_LENGTH,
    find_leaks,
    judge_report,
    recall_event,
)
from workbench.engine.access.model_gateway import ModelGateway
from workbench.engine.record.fold import load_state
from workbench.engine.record.state import RunState
from workbench.engine.run_texts import as_asked
from workbench.errors import Option, UsageError, command
from workbench.models.base import NodeRef
from workbench.propositions import NodeId
from workbench.store import ApiLedger, ModelLedger, Store
from workbench.store import events as ev
from workbench.whatif.run_edits import require_grounded

#: Fields of a vendor's hit or page that hold words; a row of figures has none of them.
_WORDS = (
    "title",
    "description",
    "snippet",
    "extra_snippets",
    "text",
    "highlights",
    "summary",
    "content",
    "wikitext",
    "body",
)
#: Shorter texts say too little to be late.
_SHORTEST = 30
#: Names of models by family: two of one family learned from much the same texts and share their blind spots.
_FAMILIES = (
    "claude",
    "gpt",
    "gemini",
    "gemma",
    "grok",
    "llama",
    "mistral",
    "mixtral",
    "qwen",
    "deepseek",
    "command",
    "nova",
    "phi",
    "kimi",
)
_OPENAI = re.compile(r"(?:^|/)(?:o[134](?:-|$)|chatgpt|davinci)")


def family_of(model: str) -> str:
    """Return the family of a model by its name: ``claude``, ``gpt``, ...; its provider where the name says nothing.

    >>> family_of("anthropic/claude-sonnet-4-5"), family_of("openrouter/anthropic/claude-3"), family_of("openai/o3-mini")
    ('claude', 'claude', 'gpt')
    """
    name = model.lower()
    if _OPENAI.search(name):
        return "gpt"
    return next((family for family in _FAMILIES if family in name), name.partition("/")[0])


def require_judge(state: RunState, judge: str | None, *, other_family: bool) -> str:
    """Return the name of the model that judges a run; raises ``UsageError`` where it cannot, or is of the family that wrote the run."""
    name = judge or state.settings.models.get("judge") or state.settings.model
    if name.startswith("offline/"):
        raise UsageError("only a language model can judge: ", Option("model", "PROVIDER/NAME"))
    writers = {*state.models, *state.settings.models.values()} - {state.settings.models.get("judge", "")}
    same = sorted(model for model in writers if family_of(model) == family_of(name))
    if other_family and same:
        raise UsageError(
            f"{name} is of the family of {same[0]}, which wrote the run, and would share its blind spots: ",
            Option("model"),
            " of another one",
        )
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptText:
    """A text that the run kept: a hit or page out of the ledger (``result``), or a report (``reasoning``)."""

    kind: str
    node: NodeId
    where: str
    text: str

    @property
    def id(self) -> str:
        """Short hash of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:12]


def kept_texts(state: RunState, rows: Iterable[LedgerRow]) -> list[KeptText]:
    """Return each text once: the results of searches and pages, then the reports of its leaves."""
    texts: dict[str, KeptText] = {}
    for row in rows:
        if row.answer is None:
            continue
        for text in _texts_in(row.answer.data):
            result = KeptText(kind="result", node=row.address.node, where=row.path, text=text)
            texts.setdefault(result.id, result)
    for leaf in state.tree.leaves():
        belief = state.tree[leaf].belief
        if belief is not None and len(belief.report) >= _SHORTEST:
            report = KeptText(kind="reasoning", node=leaf, where=leaf, text=belief.report)
            texts.setdefault(report.id, report)
    return list(texts.values())


def _texts_in(data: Any) -> Iterator[str]:
    """Yield the words of every hit in an answer, of whatever shape."""
    if isinstance(data, Mapping):
        parts = [_source_text(data[name]) for name in _WORDS if name in data]
        text = "\n".join(part for part in parts if part)
        if len(text) >= _SHORTEST:
            yield text
        for name, value in data.items():
            if name not in _WORDS:
                yield from _texts_in(value)
    elif isinstance(data, list):
        for item in data:
            yield from _texts_in(item)


def _source_text(value: Any) -> str:
    if isinstance(value, list):
        return "\n".join(item for item in value if isinstance(item, str))
    return value if isinstance(value, str) else ""


def late_by_rule(text: str, cutoff: Cutoff) -> bool:
    """Whether the date rules find a sentence that speaks of a later day as past."""
    beginning = text[:TEXT_LENGTH]
    return not cutoff.live and without_later(beginning, cutoff) != beginning


async def audit_leaks(
    store: Store,
    state: RunState,
    gateway: ModelGateway,
    judge: str,
    *,
    kinds: Sequence[str] = ("result", "reasoning"),
) -> list[dict[str, Any]]:
    """Have the judge read every kept text of these kinds, put the findings on record, and return them.

    A batch without a usable reply counts as unsure: what nobody could read is not clean.
    """
    require_grounded(state)
    cutoff = state.parsed_cutoff()
    texts = [text for text in kept_texts(state, ApiLedger(store).rows(state.run_id)) if text.kind in kinds]
    if not texts:
        raise UsageError(f"run {state.run_id} has no stored text to read")
    attempt = _fresh_attempt(store, state)
    findings: list[dict[str, Any]] = []
    root = NodeRef(id="P0", statement=as_asked(state.tree.root, cutoff).statement)
    for number, start in enumerate(range(0, len(texts), BATCH)):
        batch = texts[start : start + BATCH]
        # An attempt for each batch, since every one of these dialogues begins at step 0.
        ask = gateway.asker(run=state.run_id, node="P0", trial=0, attempt=attempt + number, role="judge")
        try:
            verdicts = await find_leaks(
                root, [item.text for item in batch], cutoff=cutoff, ask=ask, settings=state.settings.agent
            )
            read = [(item.verdict, item.quote) for item in verdicts]
        except AgentGaveUp as error:
            read = [("unsure", str(error)[:200])] * len(batch)
        for item, (verdict, quote) in zip(batch, read, strict=True):
            findings.append(
                {
                    "id": item.id,
                    "kind": item.kind,
                    "node": item.node,
                    "where": item.where,
                    "model": verdict,
                    "rule": late_by_rule(item.text, cutoff),
                    "quote": quote,
                }
            )
    body = store.put_body(orjson.dumps(findings))
    store.append(state.run_id, ev.LeaksAudited(model=judge, findings=body))
    return findings


def stored_findings(store: Store, state: RunState) -> tuple[str, list[dict[str, Any]]] | None:
    """Return model and findings of the newest audit for leaks on record, or None."""
    audits = state.annotations.leak_audits
    if not audits:
        return None
    rows = store.json(audits[-1].findings)
    # A package may hold anything: what is counted and printed has the shape that `audit_leaks` writes, or none of it is taken.
    if not isinstance(rows, list) or not all(_is_finding(row) for row in rows):
        raise UsageError(
            f"the leak audit on record of run {state.run_id} cannot be read: ",
            command("leaks", state.run_id, model="M"),
            " makes a new one",
        )
    return audits[-1].model, rows


def _is_finding(row: object) -> bool:
    texts = ("id", "kind", "node", "where", "quote")
    return (
        isinstance(row, dict)
        and set(row) == {*texts, "model", "rule"}
        and all(isinstance(row[name], str) for name in texts)
        and row["model"] in LEAK_VERDICTS
        and isinstance(row["rule"], bool)
    )


def leak_table(findings: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    """Return the counts by the model's verdict (leak, no leak, unsure) and the date rules' (late, not late)."""
    table = {verdict: {"late": 0, "not late": 0} for verdict in ("leak", "no leak", "unsure")}
    for row in findings:
        table[str(row["model"])]["late" if row["rule"] else "not late"] += 1
    return table


def both_late(findings: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the kept results that the model and the date rules both call late; a report is reasoning, and no result."""
    return [row for row in findings if row["kind"] == "result" and row["model"] == "leak" and row["rule"]]


def leaks_document(store: Store, run_ids: Iterable[str]) -> dict[str, Any]:
    """Return the leaks that models of another family found in the texts of runs: counts, rates, intervals.

    Raises ``UsageError`` for a run without such an audit on record.
    """
    by_run: dict[str, list[dict[str, Any]]] = {}
    models: dict[str, str] = {}
    for run_id in run_ids:
        stored = stored_findings(store, load_state(store, run_id))
        if stored is None:
            raise UsageError(
                f"no model has read run {run_id} for leaks: ", command("leaks", run_id, model="M")
            )
        models[run_id], by_run[run_id] = stored
    findings = [{**row, "run_id": run_id} for run_id, rows in by_run.items() for row in rows]
    return {
        "runs": models,
        "table": leak_table(findings),
        "results": leak_rates(by_run, "result"),
        "reasoning": leak_rates(by_run, "reasoning"),
        "suspects": [row for row in findings if row["model"] != "no leak"],
        "late_by_both": [row["id"] for row in both_late(findings)],
    }


def leak_rates(by_run: Mapping[str, Sequence[Mapping[str, Any]]], kind: str) -> dict[str, Any]:
    """Return the share of stored texts of a kind that the model calls a leak, over runs: Wilson's interval, and one over whole runs.

    ``unsure`` counts as no leak in ``rate`` and as one in ``rate_with_unsure``: the truth lies between.
    """
    from workbench.science.comparing.mean_intervals import rate_over_runs, wilson_interval

    chosen = [[row for row in rows if row["kind"] == kind] for rows in by_run.values()]
    n = [len(rows) for rows in chosen]
    leaks = [sum(row["model"] == "leak" for row in rows) for rows in chosen]
    unsure = [sum(row["model"] == "unsure" for row in rows) for rows in chosen]
    if not sum(n):
        return {"n": 0, "leaks": 0, "unsure": 0, "rate": None}
    wilson = wilson_interval(sum(leaks), sum(n))
    return {
        "n": sum(n),
        "leaks": sum(leaks),
        "unsure": sum(unsure),
        "rate": wilson.rate,
        "wilson": [wilson.low, wilson.high],
        "over_runs": rate_over_runs(leaks, n),
        "rate_with_unsure": (sum(leaks) + sum(unsure)) / sum(n),
    }


async def judge_run(
    store: Store, state: RunState, gateway: ModelGateway, nodes: Sequence[NodeId] = ()
) -> list[dict[str, Any]]:
    """Return the judge's scores of the reports of leaves, all unless some are named; a report without usable scores has null."""
    require_grounded(state)
    cutoff, first = state.parsed_cutoff(), _fresh_attempt(store, state)
    rows: list[dict[str, Any]] = []
    for number, node in enumerate(nodes or list(state.tree.leaves())):
        proposition = state.tree[node]
        if proposition.belief is None:
            raise UsageError(f"{node} has no report to judge")
        ask = gateway.asker(run=state.run_id, node=node, trial=0, attempt=first + number, role="judge")
        row: dict[str, Any] = {"node": node, "statement": proposition.statement, "p": proposition.belief.p}
        try:
            judgement = await judge_report(
                NodeRef(id=node, statement=as_asked(proposition, cutoff).statement),
                proposition.belief.report,
                proposition.belief.p,
                cutoff=cutoff,
                ask=ask,
                settings=state.settings.agent,
            )
            rows.append(
                {**row, "scores": judgement.scores, "mean": judgement.mean, "reasons": judgement.reasons}
            )
        except AgentGaveUp as error:
            rows.append({**row, "scores": None, "mean": None, "reasons": {"": str(error)[:200]}})
    return rows


def read_scores(path: Path) -> dict[str, dict[str, float]]:
    """Return a person's scores by leaf from a CSV file; raises ``UsageError`` that names the line."""
    try:
        rows = parse_csv_rows(read_text(path, most=MOST_TEXT_BYTES), str(path))
    except InputRefused as error:
        raise UsageError(f"--against: {error}") from None
    scores: dict[str, dict[str, float]] = {}
    for number, row in enumerate(rows, 2):
        try:
            node = str(row["node"]).strip()
            values = {name: float(row[name]) for name in DIMENSIONS}
        except (KeyError, TypeError, ValueError):
            raise UsageError(
                f"{path}, line {number}: a score from 1 to 5 is needed for each of {', '.join(DIMENSIONS)}, and a driver in the column `node`"
            ) from None
        if node in scores or not all(1 <= value <= 5 for value in values.values()):
            raise UsageError(f"{path}, line {number}: {node} is there twice, or a score lies outside 1 to 5")
        scores[node] = values
    return scores


def compare_to_people(
    rows: Sequence[Mapping[str, Any]], people: Mapping[NodeId, Mapping[str, float]]
) -> dict[str, Any]:
    """Measure how far the judge's scores lie from people's, by dimension (Prophet Arena, Table 11: 0.37 to 0.44 on a scale of 0 to 4).

    Mean absolute difference, its variance over reports (ddof 1; None for one report), and the share of differences of at most 1 point.

    Raises ``UsageError`` where no judged report has a person's scores.
    """
    import pandas as pd

    judge = pd.DataFrame({row["node"]: row["scores"] for row in rows if row["scores"] is not None})
    gaps = (judge - pd.DataFrame(people)).dropna(axis="columns").abs()
    if gaps.empty:
        raise UsageError("no report has both the judge's scores and a person's: the file names other drivers")
    dimensions: dict[str, dict[str, float | None]] = {}
    for name in DIMENSIONS:
        of_reports = gaps.loc[[name]].to_numpy(dtype=float)
        dimensions[name] = {
            "mean_absolute_difference": float(of_reports.mean()),
            "variance": float(of_reports.var(ddof=1)) if of_reports.size > 1 else None,
            "within_one": float((of_reports <= 1).mean()),
        }
    mean = float(gaps.loc[list(DIMENSIONS)].to_numpy().mean())
    return {"n": gaps.shape[1], "dimensions": dimensions, "mean_absolute_difference": mean}


async def recall_run(store: Store, state: RunState, gateway: ModelGateway) -> dict[str, Any]:
    """Ask the run's own model for its memory of the claim and its leaves, with the rates of Prophet Arena (section 4.1.1).

    A proposition is mis-recalled where the model claims to remember an outcome and the one on record is another.
    """
    cutoff, first = state.parsed_cutoff(), _fresh_attempt(store, state)
    outcomes = state.annotations.outcomes()
    rows: list[dict[str, Any]] = []
    for number, node in enumerate(dict.fromkeys(("P0", *state.tree.leaves()))):
        ask = gateway.asker(run=state.run_id, node=node, trial=0, attempt=first + number, role="grounder")
        ref = NodeRef(id=node, statement=as_asked(state.tree[node], cutoff).statement)
        row: dict[str, Any] = {"node": node, "statement": state.tree[node].statement}
        try:
            memory = await recall_event(ref, cutoff=cutoff, ask=ask, settings=state.settings.agent)
        except AgentGaveUp as error:
            rows.append({**row, "recognized": None, "reason": str(error)[:200]})
            continue
        truth = outcomes.get(node)
        rows.append(
            {
                **row,
                "recognized": memory.recognized,
                "recalled": memory.recalled,
                "facts": list(memory.facts),
                "p": memory.p,
                "outcome": None if truth is None else truth.p,
                "misrecalled": None
                if truth is None or memory.recalled is None or not memory.recognized
                else memory.recalled != (truth.p > 0.5),
            }
        )
    told = {
        name: [row[name] for row in rows if row.get(name) is not None]
        for name in ("recognized", "misrecalled")
    }
    return {"rows": rows, **{name: _rate(flags) for name, flags in told.items()}}


def _rate(flags: Sequence[bool]) -> dict[str, Any] | None:
    from workbench.science.comparing.mean_intervals import wilson_interval

    return {"n": len(flags), **wilson_interval(sum(flags), len(flags))._asdict()} if flags else None


def _fresh_attempt(store: Store, state: RunState) -> int:
    """Return the first attempt, at trial 0, that no request of this run has: nothing is answered from the ledger."""
    return 1 + max(state.seq, ModelLedger(store).last_attempt(state.run_id))
