"""The step, debug and conclude stages of the offline analyst: the next cells, a correction, the conclusion."""

import json
import re
from collections.abc import Sequence

from workbench.formatting import counted, percent, plain_numbers
from workbench.models.base import Message, NodeRef
from workbench.models.errors import ModelRefused
from workbench.offline.notebook_cells import PlannedCell
from workbench.offline.report_records import OutcomeRecord, read_records
from workbench.questions.claims import Claim
from workbench.questions.series.series_leaf import path_words

TERMINATE = "<TERMINATE_NOTEBOOK>"


def step_reply(steps: Sequence[Sequence[PlannedCell]], messages: Sequence[Message]) -> str:
    """Return the next step of a notebook whose earlier steps stand in the dialogue, or the end of it."""
    # A model keeps no memory between calls (the engine replays replies), so progress is read from the dialogue.
    sent = "\n".join(message.content for message in messages if message.role == "assistant")
    for step in steps:
        # A step counts as sent once its heading stands in an earlier reply.
        heading = step[0].source.splitlines()[0]
        if heading not in sent:
            return "\n".join(f"<{cell.kind}_cell>\n{cell.source}\n</{cell.kind}_cell>" for cell in step)
    return TERMINATE


def debug_reply(steps: Sequence[Sequence[PlannedCell]], messages: Sequence[Message]) -> str:
    """Return a correction of the failed cell, by rule; the debug stage calls this.

    A cell of the notebook is sent again unchanged, because most failures of a data source pass; a drawing that failed is made plainer.
    """
    question = next((message.content for message in reversed(messages) if message.role == "user"), "")
    sources = [cell.source for step in steps for cell in step if cell.kind == "python"]
    failed = next((source for source in sources if source in question), None)
    if failed is None:
        failed = _last_cell(messages) or sources[-1]
    why, source = _mended(failed, question)
    return f"{why}\n\n<python_cell>\n{source}\n</python_cell>"


def _mended(source: str, question: str) -> tuple[str, str]:
    if "ApiRefused" in question or "AssertionError" in question:
        # nothing may be argued around here: the same request again shows whether it stands
        return "The data door refused or showed a row that it should not; the same request once more.", source
    if "ApiUnavailable" in question:
        return "The source was not there for a moment; the same request once more.", source
    if "proof_figure(" in source:
        return (
            "The drawing failed; a plain line with the cutoff says the least that it has to.",
            _plain_figure(source),
        )
    return "The cell should have worked; it is sent again as it was meant.", source


def _plain_figure(source: str) -> str:
    title = next(line for line in source.splitlines() if line.startswith("title = "))
    return "\n".join(
        [
            "import matplotlib.pyplot as plt",
            "",
            title,
            'plt.rcParams["text.parse_math"] = False',
            "figure, axes = plt.subplots(figsize=(9, 4))",
            "axes.plot(history.days, history.values)",
            'axes.axvline(history.days[-1], color="black", label="cutoff")',
            'axes.axhline(history.values[-1], color="#c0392b", linestyle="--", label="last value")',
            'axes.set_title(f"{title}: p = {forecast.p:.2f}")',
            'axes.set_ylabel("value")',
            "axes.legend()",
        ]
    )


def _last_cell(messages: Sequence[Message]) -> str | None:
    for message in reversed(messages):
        if message.role == "assistant":
            cells = re.findall(
                r"^<python_cell>\n(.*?)\n</python_cell>", message.content, re.DOTALL | re.MULTILINE
            )
            if cells:
                return str(cells[-1])
    return None


def conclusion_reply(node: NodeRef, claim: Claim, messages: Sequence[Message]) -> str:
    """Return the report and the number that the cells printed; the conclude stage calls this.

    Raises `ModelRefused`: The dialogue shows no record: there is no number, and none is made up.
    """
    dialogue = "\n".join(message.content for message in messages if message.role in ("user", "tool"))
    # Only the record of this very statement: the dialogue may show others, and a number is taken over, never made up.
    records = [record for record in read_records(dialogue) if record.statement == node.statement]
    if not records:
        raise ModelRefused(
            f"the cells of {node.id} printed no result line, so there is no probability to conclude with"
        )
    record = records[-1]
    body = {"p_true": record.p, "key_factor": _key_factor(record)}
    line = json.dumps(record.data, ensure_ascii=False, allow_nan=False)
    return (
        f"{_report(record, claim)}\n\nWhat the notebook printed, with the outcome of every past week's window "
        f"(1 true, 0 false, x unknown):\n\n{line}\n\n```json\n{json.dumps(body, ensure_ascii=False)}\n```"
    )


def _report(record: OutcomeRecord, claim: Claim) -> str:
    data = record.data
    left_out = int((record.outcomes < 0).sum())
    unmeasured = f" {counted(left_out, 'period')} with values at or below zero left out." if left_out else ""
    parts = [
        f"**{record.statement}**",
        *(
            []
            if plain_numbers(claim.statement) == plain_numbers(record.statement)
            else [f"Read as: {claim.statement}."]
        ),
        *(f"Note: {note}." for note in claim.remarks),
        f"The statement was true in {percent(record.base_rate)} of {data.get('windows', '?')} past periods of {record.horizon_days} "
        f"trading days ({record.effective_windows:.1f} independent).{unmeasured}{_like(record)} These figures are for comparison; none enters "
        f"the estimate.",
        path_words(record.p, record.data),
        _caveats(record, claim),
    ]
    return "\n\n".join(parts)


def _like(record: OutcomeRecord) -> str:
    like = record.data.get("like")
    return f" And {like['words']}." if like else ""


def _caveats(record: OutcomeRecord, claim: Claim) -> str:
    doubts = []
    if record.effective_windows < 12:
        doubts.append(
            f"only {record.effective_windows:.1f} independent past periods of this length are visible"
        )
    if claim.series in ("SP500", "NASDAQ"):
        doubts.append("the index is a price index without dividends")
    if claim.series == "CORE_CPI":
        doubts.append("core CPI is one final, seasonally adjusted vintage, not what was first published")
    if claim.series == "WTI":
        doubts.append(
            "the spot price is published some days late, so the last value is older than the cutoff"
        )
    doubts.append(
        "only the past of the series is used: no news, no positions, no events that are already announced"
    )
    # The cells hold p inside these bounds, so a value that equals one was cut.
    if record.p in (0.02, 0.98):
        doubts.append("the simulated share was beyond this bound and is held at it")
    return "What is weak: " + "; ".join(doubts) + "."


def _key_factor(record: OutcomeRecord) -> str:
    if record.data.get("decided"):
        return f"Decided by the value of {record.data['decided']['day']}."
    return (
        f"True in {percent(record.base_rate)} of past periods ({record.effective_windows:.0f} independent), "
        f"in {percent(record.p)} of simulations from the cutoff."
    )
