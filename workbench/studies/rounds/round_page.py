"""What a night leaves on disk: a page for the person, and the files that `submit`, `questions score` and `questions bet` read."""

import json
from functools import cache
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from proxies.atomic import private_folder
from workbench.formatting import decimals, percent
from workbench.output_files import write_output
from workbench.questions.formats.question_tables import csv_of
from workbench.store import Store
from workbench.studies.rounds.round_results import ForecastRow, RoundResults, round_results
from workbench.studies.rounds.round_state import Round
from workbench.studies.rounds.round_work import round_folder
from workbench.templates import html_environment
from workbench.views.fan_chart import quantile_svg

if TYPE_CHECKING:
    from pathlib import Path

    from jinja2 import Environment

#: Methods of ``forecasts.csv``: the forecast that counts, the same in order, both steps before it, the quick pass, the trees.
METHODS = ("final", "coherent", "raw", "shrunk", "quick", "tree")
_GRID = (
    "event", "question", "crowd", "days_left", "spread", "mean", "median", "logit_mean", "direct", "tree", "raw", "shrunk", "p", "coherent",
    "gain", "flags", "next_review", "statement",
)  # fmt: skip


def write_round(store: Store, night: Round) -> "tuple[RoundResults, Path]":
    """Write page and files of a night as far as it has come; return its results and the folder."""
    results = round_results(store, night)
    folder = round_folder(store, night.name)
    private_folder(folder)
    document = results.to_json()
    write_output(folder / "night.json", (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())
    write_output(folder / "grid.csv", _grid(results).encode())
    write_output(folder / "forecasts.csv", _forecasts(results).encode())
    write_output(folder / "quantiles.csv", _quantiles(results).encode())
    write_output(
        folder / "rationales.json",
        (json.dumps(rationales(results), indent=1, ensure_ascii=False) + "\n").encode(),
    )
    write_output(folder / "night.html", round_page(results).encode())
    return results, folder


def rationales(results: RoundResults) -> dict[str, str]:
    """The words for each question, from the runs behind its forecasts; events of one question stand below one another.

    Where the own record corrects a forecast, its raw value stands behind the words.
    """
    texts: dict[str, list[str]] = {}
    several = {row.question for row in results.rows if row.event != row.question}
    for row in sorted(results.rows, key=lambda row: row.event):
        words = row.rationale or row.key_factor
        if words and results.record is not None and row.shrunk is not None:
            words += (
                f" (Raw forecast {percent(row.raw)}; shrunk to {percent(row.shrunk)} and calibrated to {percent(row.p)} on"
                f" {results.record.forecasts} own resolved forecasts.)"
            )
        if words:
            head = f"{row.event.removeprefix(row.question).lstrip('#@')}: " if row.question in several else ""
            texts.setdefault(row.question, []).append(f"{head}{words}")
    return {question: "\n\n".join(parts) for question, parts in texts.items()}


def _quantiles(results: RoundResults) -> str:
    rows = [
        ("final", question, level, str(value))
        for question, levels in results.quantiles.items()
        for level, value in levels.items()
    ]
    return csv_of(("method", "event_id", "share", "value"), rows)


def _forecasts(results: RoundResults) -> str:
    rows = []
    for row in results.rows:
        for method in METHODS:
            if method == "quick":
                rows += [[method, row.event, str(number), repr(p)] for number, p in enumerate(row.trials, 1)]
            elif (p := getattr(row, "p" if method == "final" else method)) is not None:
                rows.append([method, row.event, "1", repr(p)])
    return csv_of(["method", "event_id", "trial", "p"], rows)


def _grid(results: RoundResults) -> str:
    lines = [[_download_cell(getattr(row, name)) for name in _GRID] for row in results.rows]
    return csv_of(list(_GRID), lines)


def _download_cell(value: Any) -> str:
    if value is None:
        return ""
    return "; ".join(value) if isinstance(value, tuple) else value if isinstance(value, str) else repr(value)


@cache
def _round_environment() -> "Environment":
    return html_environment(
        "workbench.studies.rounds",
        percent=percent,
        number=decimals,
        strip=_strip,
        web=_web_address,
        fan=quantile_svg,
    )


def round_page(results: RoundResults) -> str:
    """The night as one HTML file without script or request."""
    rows = results.rows
    return _round_environment().get_template("night.html.j2").render(
        night=results.night,
        rows=rows,
        findings=results.findings,
        leaks=results.leaks,
        record=results.record,
        cost=results.night.cost_usd,
        made=sum(row.p is not None for row in rows),
        flagged=sum(bool(row.flags) for row in rows),
        trees=sum(row.tree is not None for row in rows),
        quantiles=results.quantiles,
    )  # fmt: skip


def _web_address(text: str) -> str:
    """An address that a page may lead to; "" for anything but the web."""
    return text if text.startswith(("https://", "http://")) else ""


def _strip(row: ForecastRow) -> Markup:
    marks = [f'<circle cx="{4 + 112 * p:.1f}" cy="8" r="3" class="trial"/>' for p in row.trials]
    if row.crowd is not None:
        x = 4 + 112 * row.crowd
        marks.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="1" y2="15" class="crowd"/>')
    if row.tree is not None:
        x = 4 + 112 * row.tree
        marks.append(f'<path d="M{x:.1f} 3 l4 9 h-8 z" class="tree"/>')
    spoken = f"trials {', '.join(percent(p) for p in row.trials) or 'none'}; crowd {percent(row.crowd)}; tree {percent(row.tree)}"
    return Markup(
        f'<svg viewBox="0 0 120 16" width="120" height="16" role="img" aria-label="{spoken}">'
        f'<line x1="4" x2="116" y1="8" y2="8" class="axis"/>{"".join(marks)}</svg>'
    )
