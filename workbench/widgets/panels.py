"""The panels around the tree as HTML: headline, what-if table, scenarios, the selected proposition.

The dashboard shows them. Functions in here work out the numbers; ``templates/*.html.j2`` lay them out and escape every text
that a model or an analyst wrote.
"""

import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from math import isclose
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from workbench.audit.data_read import DATA_READ, no_data_by_reason
from workbench.audit.run_findings import finding_lines
from workbench.engine.expected_cost import cost_line
from workbench.formatting import (
    counted,
    day_words,
    meaning,
    outcome_words,
    percent,
    point_change,
    sent_tokens,
)
from workbench.propositions import NodeId, Proposition, Rule, Tree, natural_order
from workbench.signing_keys import signed_line
from workbench.synthesis import WhatIf
from workbench.synthesis.rules.equation_text import MINUS, signed
from workbench.synthesis.rules.linear import INTERCEPT
from workbench.synthesis.rules.normalise import Literals
from workbench.synthesis.whatif.edits import Edit, SetValue
from workbench.synthesis.whatif.evaluation import reachable_ranges
from workbench.templates import brief, html_environment
from workbench.views.answer import direct_lines
from workbench.views.fan_chart import fan_key, fan_svg, fan_words
from workbench.views.run_overview import age
from workbench.views.transcript import call_heading, call_parts, transcript_line, unanswered_line
from workbench.views.wording import (
    assumption_change,
    base_rate_words,
    edit_words,
    name_drivers,
    rule_remarks,
    sign_off_line,
)
from workbench.whatif.edit_remarks import edit_remarks
from workbench.whatif.tree_documents import band_of_ranges
from workbench.widgets.page_terms import line_on_page, on_page

if TYPE_CHECKING:
    from jinja2 import Environment

    from workbench.engine.record.people import Remark
    from workbench.engine.record.state import RunState
    from workbench.models.base import PastShare
    from workbench.store.events import NodeRefitted
    from workbench.views.run_view import RunView
    from workbench.whatif.band import Band


__all__ = ["MINUS", "is_shown", "short_weight", "typed"]


def typed(p: float | None) -> str:
    """Return a probability as the editor holds it: at most four decimals, empty if there is none.

    >>> typed(0.48), typed(1 / 3), typed(None)
    ('0.48', '0.3333', '')
    """
    return "" if p is None else f"{round(p, 4):g}"


def is_shown(p: float | None, value: float, text: object) -> bool:
    """Whether what was typed, ``text`` read as ``value``, is the number that a page shows for ``p``.

    It shows the field's four decimals, and as a percentage one.

    >>> is_shown(0.66923, 0.6692, "0.6692"), is_shown(0.66923, 0.669, "66.9%"), is_shown(0.66923, 0.669, "0.669")
    (True, True, False)
    """
    if p is None:
        return False
    figures = [p, round(p, 4)]
    if str(text).strip().endswith("%"):
        figures.append(float(percent(p).rstrip("%")) / 100)
    return any(isclose(value, figure, rel_tol=1e-12) for figure in figures)


def short_weight(value: float) -> str:
    """Return a coefficient for a narrow column; the rule's own ``signed`` gives what a recomputation needs.

    >>> short_weight(-0.25), short_weight(0.1578), short_weight(0.00123)
    ('−0.25', '0.16', '0.001')
    """
    size = abs(value)
    text = f"{size:.2f}" if size >= 0.01 or not value else f"{size:.1g}"
    return f"{MINUS if value < 0 else ''}{text}"


_DATE = re.compile(r"\b\d{4}-\d\d-\d\d\b")


def prose(text: str) -> Markup:
    """Return the text escaped, its dates kept on one line; a filter of the templates.

    >>> print(prose("up & away by 2018-12-31"))
    up &amp; away by <span class="wb-date">2018-12-31</span>
    """
    # Safe: the text is escaped first, and what is put in around a date holds digits and dashes of it only.
    return Markup(_DATE.sub(r'<span class="wb-date">\g<0></span>', str(escape(text))))


@cache
def _panel_environment() -> "Environment":
    return html_environment(
        "workbench.widgets",
        age=age,
        digits=_digits,
        outcome=_outcome,
        duration=duration,
        meaning=meaning,
        percent=percent,
        point_change=point_change,
        points=_points,
        prose=prose,
        share=_share_words,
        sign_off_line=sign_off_line,
        signed=signed,
        short_weight=short_weight,
        two=_two,
        width=_width,
    )


def rendered(template: str, **values: object) -> str:
    """Return a panel's template with these values in it, escaped."""
    return _panel_environment().get_template(f"{template}.html.j2").render(**values)


def _digits(value: float | None) -> str:
    return "" if value is None else repr(value)


def _two(value: float) -> str:
    return f"{value:.2f}"


def _points(value: float | None) -> str:
    return percent(None) if value is None else point_change(0.0, value, unit="")


def _width(share: float) -> str:
    return f"{100 * share:.2f}%"


def _share_words(value: float | None) -> str:
    if value is None:
        return percent(None)
    return f"{MINUS if value < 0 else ''}{percent(abs(value))}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A number of the headline with what it is, and the lines below it; ``main`` is the one to use."""

    label: str
    field: str
    number: str
    what: str
    value: float | None = None
    lines: tuple[Markup | str, ...] = ()
    main: bool = False


def header(
    document: Mapping[str, Any],
    now: WhatIf,
    edits: int,
    base_rate: float | None,
    *,
    listed: bool = False,
    band: "Band | None" = None,
    market: float | None = None,
    sentence: str = "",
    rule: Sequence[str] = (),
    history: "PastShare | None" = None,
    work: str = "",
) -> str:
    """Return the headline: the claim and its resolution, the number to use with those beside it, and the answer as a sentence.

    ``listed``: the page belongs to a server whose first page lists the runs, and leads there. The band is the run's own, so
    it is left out while edits are in effect. ``work`` says how far a run is that has no probability yet.
    """
    warnings = [
        _origin(document.get("imported")),
        *map(str, document.get("hindsight") or ()),
        str(document.get("not_verified") or ""),
        *no_data_words(document.get("findings") or ()),
        "The code behind the evidence ran without a sandbox." if document.get("isolation") == "none" else "",
    ]
    figures = _figures(document, now, edits, base_rate, band, market, history, work)
    if work:
        sentence = f"{work}." if base_rate is None else f"History: {percent(base_rate)}. {work}."
    elif figures[0].field == "base-rate":
        sentence = f"The model gives {sentence} {_why_base_rate(document.get('record') or {})}"
    return rendered(
        "header",
        listed=listed,
        statement=str(document.get("statement", "")),
        rule=rule,
        warnings=[line for line in warnings if line],
        edited=bool(edits),
        before=now.before,
        figures=figures,
        sentence=sentence,
        facts=[] if work else [*direct_lines(document.get("direct")), *filter(None, [document.get("news")])],
    )


def _figures(
    document: Mapping[str, Any],
    now: WhatIf,
    edits: int,
    base_rate: float | None,
    band: "Band | None",
    market: float | None,
    history: "PastShare | None",
    work: str,
) -> list[Figure]:
    """Return the figures in order of use: edits as long as there are any, else the model's number where it has shown skill."""
    record = document.get("record") or {}
    probability = now.after if edits else now.before
    # 0 and 1 are of a claim that is decided by what is known.
    use_model = (
        bool(edits)
        or base_rate is None
        or probability in (0.0, 1.0)
        or (record.get("record") or {}).get("skill") == "better"
    )
    below: list[Markup | str] = []
    if band is not None and not edits:
        words = (
            f"all {band.repeats} agree"
            if band.is_point
            else f"{band.repeats} range from {percent(band.low)} to {percent(band.high)}"
        )
        below.append(
            Markup('<span data-field="band" data-value="{} to {}" title="{}">{}</span>').format(
                band.low, band.high, band.line(), words
            )
        )
    if not (edits or work):
        below.append(
            Markup('<span data-field="record" title="{}">{}</span>').format(
                record.get("line", ""), short_record(record)
            )
        )
    label = "Use model" if use_model and base_rate is not None else "Model"
    what = "The model's probability of the claim"
    if edits:
        label, what = "With your edits", "The probability of the claim with your edits"
    elif work and history is not None and history.forecast is not None:
        # The simulation needs no evidence: its number stands until the drivers are in.
        label, probability = "Simulation", history.forecast
        what = "The share of simulations of the series in which the claim comes true"
        below.append("before the evidence of its drivers")
    elif work:
        below.append("no number yet")
    model = Figure(
        label=label,
        field="root",
        number=percent(probability),
        value=probability,
        what=what,
        lines=tuple(below),
        main=use_model,
    )
    figures = [model]
    if base_rate is not None:
        base = Figure(
            label="Base rate" if use_model else "Use base rate",
            field="base-rate",
            number=percent(base_rate),
            value=base_rate,
            what=meaning("base rate"),
            lines=("how often it came true in the past" if history is None else base_rate_words(history),),
            main=not use_model,
        )
        figures = [model, base] if use_model else [base, model]
    if market is not None:
        figures.append(
            Figure(
                label="Market or crowd",
                field="market",
                number=percent(market),
                value=market,
                what="The probability that a market or crowd gave at the cutoff",
                lines=(f"the model is {point_change(market, probability)} from it",)
                if probability is not None
                else (),
            )
        )
    if outcome := document.get("outcome"):
        # The score is that of the run's own number, which is not the one shown while edits are in effect.
        brier = None if edits else outcome["brier"]
        score = () if brier is None else (f"Brier score {brier:.3f}, coin toss 0.250",)
        day = day_words(outcome["day"])
        figures.append(
            Figure(
                label="Outcome",
                field="outcome",
                number=outcome_words(outcome["p"]),
                what=meaning("outcome"),
                lines=(day, *score),
            )
        )
    return figures


def _why_base_rate(record: Mapping[str, Any]) -> str:
    scored = record.get("record")
    if not scored:
        return "The model has no track record yet: use the base rate."
    if scored["skill"] == "too few to tell":
        return "There is too little history to test the model: use the base rate."
    return f"The model did {short_record(record)}: use the base rate."


def short_record(record: Mapping[str, Any]) -> str:
    """Return a record of `claim_record` in a few words: how the model did against the base rate."""
    scored = record.get("record")
    if not scored:
        return "no track record yet"
    if scored["skill"] == "too few to tell":
        return f"too little history to test ({counted(scored['clusters'], 'independent period')})"
    words = {"better": "better than", "worse": "worse than"}.get(scored["skill"], "no better than")
    return f"{words} the base rate on {counted(scored['n'], 'past date')}"


def no_data_words(findings: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the warnings that count the drivers which read no data; their rows are marked."""
    by_reason = no_data_by_reason(
        {row["node"]: row["words"] for row in findings if row["check"] == DATA_READ}
    )
    return [f"Read no data: {counted(len(nodes), 'driver')}: {words}" for words, nodes in by_reason.items()]


def other_findings(findings: Sequence[Mapping[str, str]]) -> list[str]:
    """Return what else checks found: conclusions, statements, weights."""
    return finding_lines([row for row in findings if row["check"] != DATA_READ])


def hypothetical(now: WhatIf, edits: int, *, scenario: str) -> str:
    """Return what the bar over a hypothetical state says: how many edits, what they make of the claim, where they are kept."""
    return rendered("hypothetical", before=now.before, after=now.after, edits=edits, scenario=scenario)


def _origin(imported: Mapping[str, Any] | None) -> str:
    """Return the mark of an imported run: when it came, who signed it, whether it was altered; empty for an own run."""
    if not imported:
        return ""
    altered = (
        f", altered ({counted(len(imported['differing']), 'difference')})" if imported["differing"] else ""
    )
    return (
        f"Imported {imported['at_utc'][:10]}, made elsewhere, {signed_line(imported.get('signed'))}{altered}"
    )


def _outcome(outcome: Mapping[str, Any] | None) -> str:
    """Return how the claim turned out and the run's Brier score; empty while nobody knows."""
    if not outcome:
        return ""
    score = "" if outcome["brier"] is None else f", Brier score {outcome['brier']:.3f}"
    return f"{outcome_words(outcome['p'])} on {outcome['day']}{score}"


def time_and_money(spent: Mapping[str, Any]) -> str:
    """Return where the run's time and money went, as ``time_and_money`` of the audit has it: a bar for each part."""
    return rendered("time_and_money", parts=spent["parts"], worked=spent["worked_seconds"])


def unread_time_and_money() -> str:
    """Return the closed fold that asks for them when it is opened: they are read from every journal of the run."""
    return rendered("time_and_money", parts=None, worked=None)


def unread_fan() -> str:
    """Return what stands in the place of the fan of the claim's series until it is read."""
    return rendered("series_fan", fan=None, chart="", words="", key="")


def series_fan(fan: Mapping[str, Any] | None) -> str:
    """Return the claim's series with its fan, whose quantiles on the last day are said; nothing where there is none."""
    chart, words = ("", "") if fan is None else (fan_svg(fan), fan_words(fan))
    return rendered(
        "series_fan",
        fan=fan or {},
        chart=chart,
        words=words,
        key=fan_key(fan) if fan else "",
    )


def duration(seconds: float) -> str:
    """Return a duration for a screen.

    >>> duration(0.42), duration(75.0), duration(7260.0)
    ('0.4 s', '1 min 15 s', '2 h 1 min')
    """
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def progress(
    phase: str, state: "RunState", run: "RunView", lines: Sequence[str], *, share: float, words: str
) -> str:
    """Return how far a run has come: its state and why, in ``words``, requests, dollars, time, the last lines.

    ``share`` is how much of the evidence is there, in [0, 1].
    """
    return rendered(
        "progress",
        phase=phase,
        reason=name_drivers(state.tree, line_on_page(state.reason or "")),
        share=share,
        words=words,
        requests=run.model_calls,
        dollars="" if run.cost_usd is None else f"${run.cost_usd:.2f}",
        seconds=round(state.worked_seconds),
        forecast=cost_line(state) if phase == "planned" else "",
        lines=[line_on_page(line) for line in lines],
    )


def what_if(run_id: str, now: WhatIf, edits: Sequence[Edit], base: Tree, *, scenario: str) -> str:
    """Return the table of edited propositions and moved ancestors, before and after, and the command that prints the same.

    ``scenario`` is the name that the edits are kept under.
    """
    values = {edit.node: edit for edit in edits if isinstance(edit, SetValue)}
    assumed = {
        change[0]: change[2] for edit in edits if (change := assumption_change(base, edit)) is not None
    }
    if all(isinstance(edit, SetValue) or assumption_change(base, edit) is not None for edit in edits):
        # repr, not a rounded figure: the command has to give the same digits as the page.
        options = [f"--set {node}={p!r}" for node, p in assumed.items()]
        options += [f"--set {node}={_typed(edit)}" for node, edit in values.items()]
    else:
        options = [f"--scenario {shlex.quote(scenario)}"]
    return rendered(
        "what_if",
        edits=[edit_words(base, edit) for edit in edits if not isinstance(edit, SetValue)],
        values=values,
        rows=now.changed,
        stale=now.stale,
        band=band_of_ranges(now.tree),
        remarks=[line_on_page(remark.line) for remark in edit_remarks(base, edits)],
        command=" ".join(["workbench whatif", shlex.quote(run_id), *options]),
    )


def _typed(edit: SetValue) -> str:
    return repr(edit.p) if edit.low is None else f"{edit.low!r}-{edit.high!r}"


def scenarios(
    table: Mapping[str, Any], now: float | None, edits: int, market: float | None = None, *, written: str = ""
) -> str:
    """Return the saved scenarios beside the base and this page's edits, with the mix, and where they differ.

    ``table`` is what ``workbench scenarios --json`` prints; ``written`` is the scenario that this page's edits go to.
    """
    base = table["base"]["root"]
    rows = [{"kind": "base", "name": "base", "words": "the run as it is", "root": base}]
    if edits:
        count = "1 edit on this page" if edits == 1 else f"{edits} edits on this page"
        rows.append({"kind": "page", "name": "this page", "words": count, "root": now})
    for row in table["scenarios"]:
        if not (row["edits"] or row["rationale"]):
            continue  # a draft whose edits were all taken back: it is the base
        # What is written to may have been read before the last edit.
        root = now if edits and row["name"] == written else row["root"]
        held = "" if row["probability"] is None else f"probability {percent(row['probability'])}"
        late = f"out of date at {', '.join(row['stale'])}" if row["stale"] else ""
        words = "; ".join(part for part in (row["rationale"], held, late) if part)
        rows.append({"kind": "scenario", "name": row["name"], "words": words, "root": root})
    if table["mix"] is not None:
        shares = ", ".join(f"{name} {percent(share)}" for name, share in table["mix"]["weights"].items())
        rows.append({"kind": "mix", "name": "mix", "words": shares, "root": table["mix"]["root"]})
    if market is not None:
        words = "a market or crowd at the cutoff"
        rows.append({"kind": "market", "name": "market", "words": words, "root": market})
    names = [row["name"] for row in table["scenarios"]]
    return rendered("scenarios", base=base, rows=rows, names=names, nodes=table["nodes"])


def selected(
    node: NodeId,
    tree: Tree,
    base: Tree,
    spent: Mapping[str, Any] | None = None,
    comments: Sequence[Mapping[str, Any]] = (),
    *,
    without_data: str = "",
) -> str:
    """Return the head of the right-hand pane: a proposition in full, its value, what decides it, its calls, its comments.

    ``without_data`` is what its value rests on where it read no data.
    """
    proposition = tree[node]
    belief = proposition.belief
    return rendered(
        "selected",
        id=node,
        p=proposition.p,
        before=base[node].p if node in base else None,
        statement=proposition.statement,
        key_factor=belief.key_factor if belief is not None else "",
        # The offline analyst counts no tokens, and has nothing to say here.
        calls=spent["calls"] if spent and spent["input_tokens"] else None,
        tokens=sent_tokens([spent]) if spent and spent["input_tokens"] else "",
        comments=comments,
        without_data=without_data,
    )


def notes(rows: Sequence["Remark"], tags: Sequence[str]) -> str:
    """Return the analyst's notes, the oldest first, under the run's tags."""
    return rendered("notes", rows=rows, tags=tags)


def model_calls(document: Mapping[str, Any]) -> str:
    """Return a transcript (`workbench.views.transcript`) as HTML: each call behind its heading, every text escaped."""
    return rendered(
        "transcript",
        line=transcript_line(document),
        calls=[(call_heading(call), call_parts(call)) for call in document["calls"]],
        lost=[unanswered_line(row) for row in document["unanswered"]],
    )


def combination(node: NodeId, tree: Tree, refitted: "NodeRefitted | None" = None) -> str:
    """Return how an inner proposition's value comes about: its rule, and for a linear one the sum term by term.

    ``refitted`` is how far weights and value spread where the synthesizer was asked again, as the log has it.
    """
    proposition = tree[node]
    rule = proposition.rule
    return rendered(
        "combination",
        id=node,
        pinned=proposition.pinned,
        equation=rule.equation() if rule is not None else None,
        digits_of_rule=json.dumps(rule.to_json()) if rule is not None and rule.numeric else "",
        sum=_sum(node, rule, tree) if rule is not None and rule.affine else None,
        remarks=rule_remarks(rule, reachable_ranges(tree)[node]),
        refitted=refitted,
    )


def _sum(node: NodeId, rule: Rule, tree: Tree) -> dict[str, Any]:
    """Return an affine rule's sum: the constant, each child's weight, value and share, and the total.

    A child that speaks against stands as its negation, as in the equation above the sum.
    """
    values = {child: tree[child].p for child in tree[node].children}
    # an affine rule has the same coefficients at every point, so any value stands in for a missing one
    coefficients = dict(rule.coefficients({child: 0.5 if p is None else p for child, p in values.items()}))
    form = Literals.of(coefficients.pop(INTERCEPT, 0.0), coefficients)
    total: float | None = form.leak
    parts = []
    for child in natural_order(form.shares.keys() & values.keys()):
        p, negated = values[child], child in form.negated
        if p is not None and negated:
            p = 1.0 - p
        share = None if p is None else form.shares[child] * p
        total = None if share is None or total is None else total + share
        parts.append(
            {
                "id": child,
                "statement": tree[child].statement,
                "negated": negated,
                "weight": form.shares[child],
                "p": p,
                "share": share,
            }
        )
    return {"constant": form.leak, "parts": parts, "total": total}


def synthesis_text(proposition: Proposition) -> str:
    """Return the words behind an inner proposition as Markdown: the synthesis' report and the analyzer's note.

    Lines that are JSON are for programs and left out.
    """
    report = proposition.belief.report if proposition.belief is not None else ""
    words = "\n".join(line for line in report.splitlines() if not line.lstrip().startswith("{")).strip()
    parts = [brief(words)] if words else []
    if proposition.causality:
        parts.append(f"## How the parts bear on it\n\n{brief(proposition.causality)}")
    return "\n\n".join(parts)


def refusal(why: str | Exception) -> str:
    """Return one line that says why something was not done; an error's in the terms of the page."""
    return rendered("notice", line=why if isinstance(why, str) else on_page(why), refused=True)


def note(line: str) -> str:
    """Return one line that says that something was done."""
    return rendered("notice", line=line, refused=False)


def told(line: str, refused: bool) -> str:
    """Return a line that says that something was done, or why not; nothing of an empty one."""
    return (refusal(line) if refused else note(line)) if line else ""


def planned(run_id: str) -> str:
    """Return the line that leads from the form to the run that was just planned."""
    return rendered("planned", run_id=run_id)


def runs_table(runs: Sequence[Mapping[str, Any]], *, hidden: int = 0, filtered: bool = False) -> str:
    """Return the list of runs of a data folder, newest first, each a link to its dashboard.

    ``hidden`` runs are not among them because the list is long; ``filtered`` says that a search is on.
    """
    unknown = dict.fromkeys(("imported", "started_utc", "model", "outcome", "before", "next_review"))
    listed = [{**unknown, "state": run.get("status"), **run} for run in runs]
    return rendered("runs", runs=listed, hidden=hidden, filtered=filtered, now=datetime.now(UTC))
