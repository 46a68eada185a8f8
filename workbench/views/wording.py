"""Write numbers, rules, trees and runs for people, the same on every screen."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import date
from functools import cache
from typing import TYPE_CHECKING, Any

from workbench.annotations.estimates import estimate_rows
from workbench.audit.run_findings import finding_lines
from workbench.engine.detached import has_record, no_record
from workbench.errors import command, sentence
from workbench.formatting import (
    counted,
    day_words,
    outcome_words,
    percent,
    plain_numbers,
    point_change,
    sandbox_words,
)
from workbench.models.base import PastShare
from workbench.propositions import ROOT, NodeId, Polarity, Rule, Tree, depth_of
from workbench.synthesis.whatif.edits import (
    AddChild,
    Edit,
    Pin,
    RemoveNode,
    Restate,
    SetPolarity,
    SetReport,
    SetRule,
    SetValue,
    Unpin,
)
from workbench.synthesis.whatif.evaluation import Span, reachable_ranges
from workbench.terminal import printable
from workbench.views.answer import answer_sentence, direct_forecasts, direct_lines, short_name
from workbench.whatif.typed_values import TypedValue

if TYPE_CHECKING:
    from workbench.engine.record.people import Remark
    from workbench.engine.record.stages import Stages
    from workbench.engine.record.state import RunState
    from workbench.views.run_view import RunView

_ID = re.compile(r"\bP[0-9]+(?:\.[0-9]+)*")

#: Names of a record's document that a person reads otherwise.
_RIVALS = {"always 0.5": "always 50%", "driftless walk": "a walk without trend"}

#: Propositions that a terminal shows of a tree without being asked for all.
MOST_LINES = 100


def equation_with_values(tree: Tree, node: NodeId) -> str | None:
    """Return an inner node's ``Rule.equation`` with the children's values beside their ids; None if it has no rule.

    The terminal, the report and the exported notebook print this line, so that a reader can recompute the value.
    """
    rule = tree[node].rule
    if rule is None:
        return None
    # Whole ids by one pattern: replacing text by text would find P2.1 inside P2.10 too.
    children = set(tree[node].children)

    def with_value(match: re.Match[str]) -> str:
        child = match[0]
        if child not in children:
            return child
        belief = tree[child].belief
        return f"{child} ({percent(belief.p if belief else None)})"

    return _ID.sub(with_value, rule.equation())


def rule_remarks(rule: Rule | None, span: Span) -> list[str]:
    """Return the remarks on an inner node's rule: the range that a sum can reach (of `reachable_ranges`), and its warnings."""
    if rule is None or not rule.numeric:
        return []
    if not rule.affine or span[0] == span[1]:  # held at its value, or without weight
        return rule.warnings()
    low, high = map(percent, span)
    whole = (low, high) == (percent(0.0), percent(1.0))
    short = "" if whole else "; what no driver covers makes up the rest"
    return [f"{low} with every driver against, {high} with every driver for{short}", *rule.warnings()]


def tree_lines(
    tree: Tree,
    *,
    most: int | None = MOST_LINES,
    marks: Mapping[NodeId, str] | None = None,
) -> list[str]:
    """Return the tree as lines: id, probability, statement, and under an inner node its rule with the range it reaches.

    A tree of more than ``most`` propositions is folded at the deepest level down to which no more than that many lie; a line
    says what is below. None folds nothing. ``marks`` are words that stand behind a proposition's statement.
    """
    lines: list[str] = []
    deepest, spans = _levels_shown(tree, most), reachable_ranges(tree)
    # (node, prefix before its branch mark, is the last of its siblings)
    stack: list[tuple[NodeId, str, bool | None]] = [(tree.root.id, "", None)]
    while stack:
        node, prefix, last = stack.pop()
        proposition = tree[node]
        mark = "" if last is None else ("└─ " if last else "├─ ")
        belief = proposition.belief
        remark = f" · {marks[node]}" if marks and node in marks else ""
        lines.append(
            # a line end in a statement would begin a line that passes for ours
            f"{prefix}{mark}{node}  {percent(belief.p if belief else None)}  {printable(proposition.statement, keep='')}{remark}"
        )
        below = prefix + ("" if last is None else ("   " if last else "│  "))
        children = proposition.children
        if children and depth_of(node) >= deepest:
            count = len(tree.below(node))
            lines.append(f"{below}└─ … {count} more below {node}")
            continue
        rule = equation_with_values(tree, node)
        if rule:
            lines.append(f"{below}│    = {rule}")
            lines.extend(f"{below}│      {remark}" for remark in rule_remarks(proposition.rule, spans[node]))
        stack.extend(
            (child, below, index == len(children) - 1) for index, child in reversed(list(enumerate(children)))
        )
    return lines


def _levels_shown(tree: Tree, most: int | None) -> int:
    """Find the deepest level that is shown: the children of the root always, all where the tree is small enough."""
    if most is None or len(tree) <= most:
        return tree.depth
    at_level = Counter(depth_of(node) for node in tree.ids())
    level, seen = 1, at_level[0] + at_level[1]
    while seen + at_level[level + 1] <= most:
        level += 1
        seen += at_level[level]
    return level


def history_words(history: PastShare) -> str:
    """Say how often a claim came true before, without its evidence."""
    return f"true in {percent(history.share)} of {_periods(history)}"


def base_rate_words(history: PastShare) -> str:
    """Say the same below the number itself."""
    return f"of {_periods(history)}"


def _periods(history: PastShare) -> str:
    count = max(1, round(history.periods))
    return f"past periods of this length ({count} independent)"


def history_lines(history: PastShare) -> list[str]:
    """Say what is known of a claim before any evidence: its base rate, and what a simulation makes of it."""
    lines = [f"History: {history_words(history)}."]
    if history.forecast is not None:
        lines.append(
            f"Simulation of the claim's series: {percent(history.forecast)}. Evidence for the drivers follows."
        )
    return lines


def work_words(state: RunState, phase: str, stages: Stages) -> str:
    """Say in a few words how far a run is; ``phase`` is what a page or a cell knows of it."""
    leaves = list(state.tree.leaves())
    grounded = sum(state.tree[leaf].p is not None for leaf in leaves)
    far = f"{grounded} of {counted(len(leaves), 'driver')}"
    if phase == "planned":
        return "Planned: press Collect evidence"
    if not state.planned:
        working = phase in ("running", "waiting")
        return (
            "Breaking the claim into drivers"
            if working
            else f"{phase.capitalize()} before the claim had drivers"
        )
    if phase in ("running", "waiting"):
        left = stages.left(state) if phase == "running" else ""
        return f"Collecting evidence, {far}{f', {left}' if left else ''}"
    return f"{phase.capitalize()} with evidence for {far}"


def resolution_lines(state: RunState) -> list[str]:
    """Return how a claim resolves: up to when data are used, and which series decides on which day, with the notes of its reading."""
    from workbench.questions.claims import ON_A_DAY

    cutoff = state.parsed_cutoff()
    lines = [
        f"data of {day_words(date.fromisoformat(state.cutoff_instant[:10]))}, live"
        if cutoff.live
        else f"data to {day_words(cutoff.last_moment_day)}"
    ]
    reading = state.read_as or {}
    try:
        end = day_words(date.fromisoformat(str(reading["claim"]["end"])))
    except (KeyError, TypeError, ValueError):  # none, or a stranger's package names no day there
        return lines
    when = "on" if reading["claim"].get("pattern") in ON_A_DAY else "by"
    lines.append(f"resolves {when} {end} by {_series_words(reading)}")
    if plain_numbers(text := str(reading.get("text", ""))) != plain_numbers(state.statement):
        lines.append(f'read from "{printable(text, keep="")}"')
    return lines + [printable(str(note), keep="") for note in reading.get("notes", ())]


def _series_words(reading: Mapping[str, Any]) -> str:
    """Name the series of a stored reading as people do, followed by its reference."""
    series = [str(name) for name in (reading["claim"].get("series"), reading["claim"].get("other")) if name]
    article = _article(str(reading.get("statement", "")))
    if article is None:
        return f"the series {printable(' and '.join(series), keep='')}"
    name = printable(" and ".join(name if ":" in name else f"embedded:{name}" for name in series), keep="")
    return name if article == name else f"{article} ({name})"


@cache  # a page words its headline anew at every edit
def _article(statement: str) -> str | None:
    from workbench.questions.errors import ClaimRefused
    from workbench.questions.grammar import read_claim

    with suppress(ClaimRefused):  # a reading of a language model's run may be no claim of the grammar
        return read_claim(statement).about.article
    return None


def run_lines(
    view: RunView, *, whole: bool = False, named: str | None = None, waiting: bool = False
) -> list[str]:
    """Return a run as lines: the tree, folded where it is large unless ``whole``, then what it rests on.

    ``named`` is what ``show`` was called with, for a package that has no id in this home; ``waiting`` says that its record is being
    measured and follows below.
    """
    findings = view.findings()
    marked = {row["node"]: "see the checks below" for row in findings}
    marked |= {node: "read no data" for node in view.without_data}
    record = view.record()
    first = printable(answer_sentence(view.tree, view.base_rate), keep="")
    if record is not None:  # on the first line: who reads no further learns how far to trust the answer
        first += f" Record: {record['line']}"
    tree = tree_lines(view.tree, most=None if whole else MOST_LINES, marks=marked)
    lines = [first, "", *tree, ""]
    if not whole and len(view.tree) > MOST_LINES:
        lines[-1:] = [
            sentence(
                f"({counted(len(view.tree) - 1, 'driver')}, folded: ",
                command("show", named or view.run_id, all=True),
                ")",
            ),
            "",
        ]
    models = dict.fromkeys((view.state.settings.model, *view.state.settings.direct_models))
    facts = [f"run {view.run_id}", view.state.status, f"cutoff {view.cutoff}", " and ".join(models)]
    if view.state.isolation:
        facts.append(f"sandbox {sandbox_words(view.state.isolation)}")
    lines.append(" · ".join(facts))
    lines += [f"reading: {printable(note, keep='')}" for note in (view.state.read_as or {}).get("notes", ())]
    if view.since is not None:
        lines.append(view.since)
    lines += view.hindsight
    if view.state.imported is not None:
        lines.append(view.state.imported.line())
    if (absent := view.state.not_installed()) is not None:
        lines.append(absent)
    if (unverified := view.state.unverified_line()) is not None:
        lines.append(unverified)
    lines += finding_lines(findings)
    cost = "cost unknown" if view.cost_usd is None else f"${view.cost_usd:.4f}"
    lines.append(f"{view.model_calls} model calls ({cost}), {view.api_calls} data calls")
    lines += direct_lines(direct_forecasts(view.state))
    if news := view.state.news_line():
        lines.append(printable(news, keep=""))
    if view.base_rate is not None:
        root = view.tree.root.p
        gap = "" if root is None else f" ({point_change(view.base_rate, root)} from it)"
        lines.append(f"base rate known at the cutoff: {percent(view.base_rate)}{gap}")
    if (prior := view.prior) is not None:
        root, p = view.tree.root.p, float(prior["prior"])
        gap = "" if root is None else f" ({point_change(p, root)} from it)"
        cases = f": {printable(str(prior['cases']))}" if prior["cases"] else ""
        lines.append(f"before its drivers were seen: {percent(p)}{gap}{cases}")
    if record is not None:
        lines.append(record_line(record))
    elif not waiting and view.state.finished and has_record(view.state):
        reason = no_record(view.state)
        lines.append(f"no track record: {reason}" if reason else later_record(named or view.run_id))
    return [*lines, *annotation_lines(view)]


def record_lines(record: Mapping[str, Any]) -> list[str]:
    """Return a record that came after the answer: how far to trust it, then its rivals."""
    return [f"how far to trust it: {record['line']}", record_line(record)]


def later_record(run_id: str) -> str:
    """Name the command that measures a record that is not there yet."""
    return sentence("no track record yet: ", command("show", run_id, record=True), " measures it")


def record_line(record: Mapping[str, Any]) -> str:
    """Write a record of `claim_record` on one line: its forecaster, its cutoffs, and its rivals' scores."""
    start = f"record: the {record['forecaster']} ({percent(record['p'])} here)"
    scored = record["record"]
    if scored is None:
        return f"{start} has none: {record['line']}"
    rivals = ", ".join(
        f"{_RIVALS.get(name, name)} {rival['brier_index']:.1f}" for name, rival in scored["against"].items()
    )
    return (
        f"{start} on {counted(scored['n'], 'past date')} from {scored['first']} to {scored['last']} ({scored['clusters']} independent): "
        f"Brier Index {scored['brier_index']:.1f} (100 is perfect); {rivals}"
    )


def annotation_lines(view: RunView) -> list[str]:
    """Return the remarks of people on a run: outcome, tags, notes, comments, sign-offs, one line each."""
    annotations = view.state.annotations
    lines = (
        [outcome_line(annotations.outcome.to_json(view.tree.root.p))]
        if annotations.outcome is not None
        else []
    )
    lines += [f"tags: {', '.join(annotations.tags)}"] if annotations.tags else []
    lines += [f"note on {remark_line(note)}" for note in annotations.notes]
    lines += [f"comment on {remark_line(comment)}" for comment in annotations.comments]
    lines += [line for row in estimate_rows(view.state) for line in estimate_lines(row)]
    lines += [sign_off_line(row) for row in view.sign_offs]
    # a line end in a name or a tag would begin a line that passes for ours
    return [printable(line, keep="") for line in lines]


def outcome_line(outcome: Mapping[str, Any]) -> str:
    """Write the claim's outcome, its source, and the Brier score of the forecast, as every screen prints it."""
    source = "data of the series" if outcome["source"] == "series" else outcome["author"] or "a person"
    brier = outcome["brier"]
    score = "" if brier is None else f"; Brier score {brier:.3f} (0 is perfect, always 50% scores 0.250)"
    times = "once" if outcome["revised"] == 1 else f"{outcome['revised']} times"
    revised = f", revised {times}" if outcome["revised"] else ""
    return f"Outcome: {outcome_words(outcome['p'])} ({source}, {day_words(outcome['day'])}{revised}){score}"


def estimate_lines(row: Mapping[str, Any]) -> list[str]:
    """Write people's estimates of one proposition, one a line: a row of ``estimate_rows``."""
    model = "no answer yet" if row["model"] is None else percent(row["model"])
    lines = []
    for estimate in row["estimates"]:
        came = f", came back in package {estimate['package'][:19]}" if "package" in estimate else ""
        late = ", after the outcome: not scored" if estimate["too_late"] else ""
        why = f": {estimate['why']}" if estimate["why"] else ""
        lines.append(
            f"estimate of {row['node']} by {estimate['author']} ({estimate['at_utc'][:10]}{came}{late}) {percent(estimate['p'])}{why}"
        )
    if len(row["estimates"]) > 1:
        lines.append(
            f"estimates of {row['node']} pooled in log-odds: {percent(row['pooled'])} of {len(row['estimates'])} people; the model: {model}"
        )
    else:
        lines[0] = lines[0].replace(
            f"estimate of {row['node']}", f"estimate of {row['node']} (the model: {model})", 1
        )
    return lines


def remark_line(remark: Remark) -> str:
    """Write a comment or a note on one line: place, author, day, text."""
    came = f"came back in package {remark.package[:19]}" if remark.package else ""
    who = ", ".join(part for part in (remark.author, remark.at_utc[:10], came) if part)
    return f"{remark.node or 'run'} ({who}): {printable(remark.text, keep='')}"


def sign_off_line(row: Mapping[str, Any]) -> str:
    """Write a row of ``sign_off_rows`` as the sentence of the screens."""
    verb = "Accepted" if row["verdict"] == "accept" else "Returned"
    left = [key for key, is_done in row["checklist"].items() if not is_done]
    parts = [f"{verb} by {row['author']} on {row['at_utc'][:10]} (a typed name), {row['attested'][:19]}"]
    parts += [f"came back in package {row['package'][:19]}"] if row["package"] else []
    parts += [f"open: {', '.join(left)}"] if left else []
    if row["mended"]:
        what = "a record" if row["mended"] == 1 else f"{row['mended']} records"
        parts.append(f"covers {what} as written, which screens show without control characters")
    parts += [f"does not hold: {row['fault']}"] if row["fault"] else []
    # "scenario.recorded": people know the thing, not the event
    later = dict.fromkeys(kind.partition(".")[0] for kind in row["later"])
    parts += [f"added since, not covered: {', '.join(later)}"] if later else []
    return "; ".join(parts)


def edit_words(tree: Tree, edit: Edit) -> str:
    """Write an edit as words, with the value it replaces and, where given, who holds it and why.

    ``tree`` is the one before the edits.
    """
    place = driver_words(tree, edit.node)
    match edit:
        case SetValue():
            before = tree[edit.node].p if edit.node in tree else None
            by = edit.override
            who = "" if by is None else f" ({', '.join(filter(None, (by.author, by.reason)))})"
            until = f", until {by.expires}" if by is not None and by.expires else ""
            value = TypedValue(edit.p, edit.low, edit.high).words()
            return f"{place} set to {value} (was {percent(before)}){who}{until}"
        case Pin():
            return f"{place} held at its value"
        case Unpin():
            return f"{place} given back to the model"
        case AddChild():
            side = f", {edit.polarity.value.lower()}" if edit.polarity is not None else ""
            value = f" at {percent(edit.p)}" if edit.p is not None else ""
            return f"under {place} added{side}: {edit.statement}{value}"
        case RemoveNode():
            return f"{place} left out"
        case Restate():
            return f"{place} restated: {edit.statement}"
        case SetPolarity():
            side = "for" if edit.polarity is Polarity.POSITIVE else "against"
            return f"{place} speaks {side} what stands above"
        case SetReport():
            return f"{place} has another report"
        case SetRule():
            assumed = assumption_change(tree, edit)
            if assumed is not None:
                name, before, p = assumed
                return f"{name} set to {percent(p)} (was {percent(before)})"
            return f"{place} has another rule ({edit.rule.get('name', 'unnamed')})"
    raise AssertionError(f"an edit without words: {edit.kind}")


def driver_words(tree: Tree, node: NodeId) -> str:
    """Name a driver in a sentence by its statement, shortened; the claim as such; an id where the tree has no such driver."""
    if node == ROOT or node not in tree:
        return "the claim" if node == ROOT else node
    return f'"{short_name(tree[node], tree.root.statement)}"'


def name_drivers(tree: Tree, line: str) -> str:
    """Put the words of drivers in the place of their ids, for a line that was written for a log."""
    return _ID.sub(lambda match: driver_words(tree, match[0]), line)


def assumption_change(tree: Tree, edit: Edit) -> tuple[str, float, float] | None:
    """Return a rule's assumption as name, old and new value, where the edit changes nothing else of the rule; else None."""
    if not isinstance(edit, SetRule):
        return None
    rule = tree[edit.node].rule if edit.node in tree else None
    old, new = (rule.to_json() if rule is not None else {}), dict(edit.rule)
    was, becomes = old.pop("assumption", None), new.pop("assumption", None)
    if old != new or not isinstance(was, Mapping) or not isinstance(becomes, Mapping):
        return None
    if was.get("detail") != becomes.get("detail"):
        return None
    name = "PA" if edit.node == ROOT else f"{edit.node}.PA"
    return name, float(was["probability"]), float(becomes["probability"])
