"""Turn a claim into the cells of its proof notebook: templates in ``notebooks/``, and the values for the holes of each."""

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from datetime import date, datetime
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from proxies.asof.clock import Cutoff
from workbench.forecasts.reading import Reading
from workbench.forecasts.series_paths import Combination
from workbench.formatting import plain_numbers
from workbench.questions.claims import Claim
from workbench.questions.decision import claim_scale
from workbench.questions.series.readings_of_claims import claim_reading, state_of
from workbench.questions.series.series_leaf import RECORD
from workbench.questions.series.series_reference import SeriesRef
from workbench.questions.series.series_registry import source_of_rows
from workbench.templates import text_environment

if TYPE_CHECKING:
    from jinja2 import Environment, Template


Kind = Literal["markdown", "python"]

_STEP = "<!-- step -->"
_FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedCell:
    """One cell to be sent: its kind and its source."""

    kind: Kind
    source: str


def render_steps(name: str, holes: Mapping[str, Any]) -> list[list[PlannedCell]]:
    """Return the steps of a notebook, each a list of cells; the offline analyst sends one step a turn.

    Raises `UndefinedError`: A hole has no value.
    """
    return [
        [
            PlannedCell(kind=kind, source=source)
            for kind, template in step
            if (source := template.render(holes).strip("\n"))
        ]
        for step in _steps(name)
    ]


@cache
def _environment() -> "Environment":
    return text_environment("workbench.offline", "notebooks")


@cache
def _steps(name: str) -> list[list[tuple[Kind, "Template"]]]:
    # Split before anything is filled in: a statement that holds a fence or the mark of a step stays inside its cell.
    text = files("workbench.offline").joinpath("notebooks", f"{name}.md").read_text(encoding="utf-8")
    return [_cell_templates(step) for step in text.split(_STEP)]


def _cell_templates(step: str) -> list[tuple[Kind, "Template"]]:
    templates: list[tuple[Kind, Template]] = []
    # A split by a pattern with one group alternates: text, group, text, group, ...
    for place, piece in enumerate(_FENCE.split(step)):
        kind: Kind = "python" if place % 2 else "markdown"
        # white space at a cell's end is of no use; at its beginning it may be the indentation of code
        source = piece.rstrip("\n") if place % 2 else piece.strip()
        templates.append((kind, _environment().from_string(source)))
    return templates


_ELSEWHERE = "\nfrom forecaster.source_rows import source_rows"
_REFERENCE_ROLE = (
    "\n\nThis is the reference class of its parent: the same event, judged by its own record alone. Its past outcomes "
    "stand for the parent's when the parent's weights are estimated."
)


def notebook(claim: Claim, *, statement: str, cutoff: str, last_day: date) -> list[list[PlannedCell]]:
    """Return the steps of the proof notebook of a claim; the step and debug stages send them."""
    combination = _combination(claim)
    unit = (
        f"{claim.series} / {claim.other}"
        if claim.other
        else ", ".join(filter(None, (claim.series, claim.about.unit)))
    )
    holes = {
        "statement": statement,
        "statement_literal": json.dumps(statement, ensure_ascii=False),
        "reading": _reading(claim, statement),
        "role": _REFERENCE_ROLE if claim.reference else "",
        "kind": "reference" if claim.reference else "leaf",
        "record": RECORD,
        "cutoff": cutoff,
        "last_day": last_day.isoformat(),
        "last_day_code": _field_code(last_day),
        "article": claim.about.article
        if claim.against is None
        else f"the ratio of {claim.about.article} to {claim.against.article}",
        "elsewhere": _ELSEWHERE if _elsewhere(claim) else "",
        "combined": "combined_history, " if combination else "",
        "together": ", together=(first, second)" if combination == "ratio" else "",
        "fetch": "\n".join(_fetch(claim, combination, Cutoff.parse(cutoff).instant)),
        "scale": claim_scale(claim),
        "claim": _reading_code(claim_reading(claim)),
        "state": state_of(claim),
        "unit_literal": json.dumps(unit, ensure_ascii=False),
    }
    return render_steps("leaf", holes)


def _reading(claim: Claim, statement: str) -> str:
    lines = (
        [] if plain_numbers(claim.statement) == plain_numbers(statement) else [f"Read as: {claim.statement}"]
    )
    lines += [note[0].upper() + note[1:] for note in claim.remarks]
    return "".join(f"{line}.\n\n" for line in lines)


def _combination(claim: Claim) -> Combination | None:
    if claim.other is not None:
        return "ratio"
    return "difference" if len(claim.about.sources) > 1 else None


def _elsewhere(claim: Claim) -> bool:
    return any(source_of_rows(name).source != "embedded" for name in claim.sources)


def _rows_code(ref: SeriesRef, cutoff: datetime) -> str:
    path, params = ref.call(cutoff)
    call = f"CALL_API({json.dumps(path)}, {json.dumps(params)})"
    return f"rows = {call if ref.source == 'embedded' else f'source_rows({json.dumps(ref.source)}, {call}, LAST_DAY)'}"


def _fetch(claim: Claim, combination: Combination | None, cutoff: datetime) -> list[str]:
    names = (
        claim.about.sources if claim.against is None else (claim.about.sources[0], claim.against.sources[0])
    )
    monthly = ", monthly=True" if claim.about.monthly and claim.about.embedded else ""
    lines = []
    for name, part in zip(names, ("first", "second") if combination else ("history",), strict=True):
        lines += [
            _rows_code(source_of_rows(name), cutoff),
            f"{part} = known_series(rows, LAST_DAY{monthly})  # refuses a row of after the cutoff",
            f'print(f"{name}: {{len({part})}} values, {{{part}.days[0]}} to {{{part}.days[-1]}}, last {{{part}.values[-1]:,.2f}}")',
        ]
    if combination:
        lines.append(
            f'history = combined_history(first, second, "{combination}")  # on the days that both have'
        )
    return lines


def _reading_code(reading: Reading) -> str:
    """Write the call that makes a reading, with the fields that differ from their defaults."""
    lines = []
    for field in fields(reading):
        content = getattr(reading, field.name)
        if field.default is MISSING or content != field.default:
            lines.append(f"    {field.name}={_field_code(content)},\n")
    return f"Reading(\n{''.join(lines)})"


def _field_code(value: object) -> str:
    if isinstance(value, date):
        return f"date({value.year}, {value.month}, {value.day})"
    if isinstance(value, str):
        return json.dumps(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_field_code, value))}{',' if len(value) == 1 else ''})"
    return repr(value)
