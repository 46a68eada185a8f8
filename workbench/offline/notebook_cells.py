"""From a claim to the cells of its proof notebook: templates in ``notebooks/``, and the values for the holes of each."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Literal

from workbench.questions.claims import Claim, amount, number
from workbench.questions.decision import spec_of
from workbench.questions.series.embedded_series import SERIES
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

    Parameters
    ----------
    name : str
        A template in ``notebooks/``, without ``.md``.
    holes : mapping
        A value for every hole of the template and its parts.

    Raises
    ------
    jinja2.UndefinedError
        A hole has no value.
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


_REFERENCE_ROLE = (
    "\n\nThis is the reference class of its parent: the same event, judged by its own record alone. Its past outcomes "
    "stand for the parent's when the parent's weights are estimated."
)


def notebook(claim: Claim, *, statement: str, cutoff: str, last_day: date) -> list[list[PlannedCell]]:
    """Return the steps of the proof notebook of a claim; the step and debug stages send them.

    Parameters
    ----------
    claim : Claim
        Settled: no touch of unknown side, no percentage change of a yield.
    statement : str
        The proposition, verbatim.
    cutoff : str
        As the caller wrote it.
    last_day : date
        Last day visible at the cutoff.
    """
    method = spec_of(claim, last_day).method
    holes = _common(claim, statement=statement, cutoff=cutoff, last_day=last_day)
    holes |= _SPECIFIC[method](claim)
    return render_steps(method.replace("-", "_"), holes)


def _common(claim: Claim, *, statement: str, cutoff: str, last_day: date) -> dict[str, Any]:
    article = claim.about.article
    known = (
        "series.index[-1]  # the last value known"
        if claim.about.monthly
        else "close.index[-1]  # the last close"
    )
    return {
        "statement": statement,
        "statement_literal": json.dumps(statement, ensure_ascii=False),
        "reading": _reading(claim, statement),
        "role": _REFERENCE_ROLE if claim.reference else "",
        "kind": "reference" if claim.reference else "leaf",
        "cutoff": cutoff,
        "last_day": last_day.isoformat(),
        "end": claim.end.isoformat(),
        "start_code": f'pd.Timestamp("{claim.start}")' if claim.start else known,
        "series": claim.about.sources[0],
        "article": article,
        "title_article": article[0].upper() + article[1:],
        "unit": f"{claim.series}, {claim.about.unit}",
        "bounds": "\n".join(_bounds(claim)),
        "seen_from": "x[today]",
    }


def _reading(claim: Claim, statement: str) -> str:
    """Return the canonical sentence and notes on it, if they say more than the statement."""
    said = [] if claim.statement == statement else [f"Read as: {claim.statement}"]
    said += [note[0].upper() + note[1:] for note in claim.notes]
    return "".join(f"{line}.\n\n" for line in said)


# --- the interval of the statistic, as code ------------------------------------------------------------------


def _bounds(claim: Claim) -> list[str]:
    """Return lines of code that set ``low`` and ``high``, the interval in which the event happens."""
    if claim.pattern == "range":
        low, high = (_level_code(claim, value) for value in (amount(claim), claim.upper or 0.0))
        return [f"low, high = {low} - 1e-9, {high} + 1e-9  # both ends count"]
    lines, threshold = _threshold(claim)
    equality = "equality does not count" if claim.strict else "equality counts"
    nudge = "+" if (claim.side == "above") == claim.strict else "-"
    if claim.side == "above":
        return [*lines, f"low, high = {threshold} {nudge} 1e-9, np.inf  # {equality}"]
    return [*lines, f"low, high = -np.inf, {threshold} {nudge} 1e-9  # {equality}"]


def _threshold(claim: Claim) -> tuple[list[str], str]:
    if claim.pattern in ("level", "touch"):
        return [], _level_code(claim, amount(claim))
    if claim.pattern == "volatility":
        return [], f"still_needed({number(amount(claim) / 100)})"
    if claim.pattern == "average":
        ratio = 1 + (claim.level or 0.0) / 100 * (1 if claim.side == "above" else -1)
        return [], "0.0" if ratio == 1 else f"np.log({number(ratio)})"
    growth = _growth_code(claim)
    if claim.start is None:
        return [], growth or "0.0"
    lines = ["# the part of the move that has already happened, where the start lies behind"]
    if claim.about.monthly:
        lines += [
            "behind = months_ahead(START)",
            "offset = x[today + behind] - x[today] if behind < 0 else 0.0",
        ]
    else:
        lines += [
            "seen = START <= close.index[-1]",
            "offset = float(np.log(close.asof(START) / close.iloc[-1])) if seen else 0.0",
        ]
    return lines, f"offset + {growth}" if growth else "offset"


def _growth_code(claim: Claim) -> str:
    if claim.pattern in ("compare", "relative"):
        return ""
    return f"np.log({number(1 + amount(claim) / 100)})"


def _level_code(claim: Claim, level: float) -> str:
    if claim.about.monthly:
        return (
            f"{number(level)} - x[today]"
            if claim.about.kind == "yield"
            else f"np.log({number(level)}) - x[today]"
        )
    if claim.about.kind == "volatility":
        return f"np.log({number(level)})"
    return f"np.log({number(level)} / close.iloc[-1])"


# --- what each template wants beyond that --------------------------------------------------------------------


def _path(claim: Claim) -> dict[str, str]:
    highest = claim.side == "above"
    return {
        "extreme": "max" if highest else "min",
        "extreme_word": "highest" if highest else "lowest",
        "extreme_title": "Highest" if highest else "Lowest",
        "hits_code": "~happened" if claim.never else "happened",
        "hits_comment": "the claim says that it does not" if claim.never else "the claim says that it does",
        "share_of": "1 - " if claim.never else "",
    }


def _reverting(claim: Claim) -> dict[str, str]:
    if claim.pattern in ("level", "range"):
        return {
            "seen_from": "0.0",
            "statistic_comment": "the level at the end of a window, in logs, and the interval it has to fall into",
            "statistic_code": "x[past + days]",
            "level_base": "0.0",
            "values_label": f"{claim.about.unit}, end of a window",
        }
    return {
        "statistic_comment": "the log change over a window and the interval it has to fall into",
        "statistic_code": "x[past + days] - x[past + first]",
        "level_base": "x[today]",
        "values_label": "end of a window as a multiple of its start",
    }


def _reverting_path(claim: Claim) -> dict[str, str]:
    levels = claim.pattern == "touch"
    return _path(claim) | {
        "past_base": "x[past]" if levels else "0.0",
        "present_base": "x[today]" if levels else "0.0",
        "extreme_unit": claim.about.unit if levels else "as a multiple of the start",
    }


def _monthly(claim: Claim) -> dict[str, Any]:
    differences = claim.about.kind == "yield"
    vintage = "; the file holds one final, seasonally adjusted vintage, so later revisions are in it"
    return {
        "sources": claim.about.sources,
        "published": ", and is known some days after the month" + ("" if differences else vintage),
        "x_code": "series.to_numpy()" if differences else "np.log(series.to_numpy())",
        "level_code": "series.iloc[-1] + bound" if differences else "series.iloc[-1] * np.exp(bound)",
        "moves_shown": "moves" if differences else "100 * np.expm1(moves)",
        "bound_shown": "bound" if differences else "100 * np.expm1(bound)",
        "moves_unit": claim.about.unit if differences else "%",
    }


def _volatility(claim: Claim) -> dict[str, str]:
    return {"level_fraction": number(amount(claim) / 100), "level_text": number(amount(claim))}


def _relative(claim: Claim) -> dict[str, str]:
    return {"other": SERIES[claim.other or ""].sources[0]}


def _nothing(claim: Claim) -> dict[str, str]:
    return {}


_SPECIFIC: dict[str, Callable[[Claim], Mapping[str, Any]]] = {
    "endpoint": _nothing,
    "average": _nothing,
    "path": _path,
    "volatility": _volatility,
    "relative": _relative,
    "reverting": _reverting,
    "reverting-path": _reverting_path,
    "monthly": _monthly,
}
