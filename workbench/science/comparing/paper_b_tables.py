"""Compare tables 1, 9 and 17 of paper B (BLF) as printed with those of the released files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from proxies.yaml_text import parse_yaml
from workbench.science.arrays import FloatArray, IntArray
from workbench.science.comparing.bootstrap import percentile_interval, stratified_index
from workbench.science.comparing.comparison import bootstrap_comparisons
from workbench.science.recipe import Recipe, prepare
from workbench.science.scoring.scorecard import scorecard
from workbench.science.tables import Events, Forecasts

BLF = "pro-high-brave-c1-p1-t1"
CASSI = "fb-cassi-ai-2"
GPT5 = "fb-openai-gpt-5-2025-08-07_zero_shot_with_freeze_values"
NOT_RELEASED = "not in the dev files: its forecasts were not shipped"
CASSI_WHY = "the file holds 4 tranche-A market forecasts imputed as 0.5 (without them 82.46): other forecasts were scored"
_CASSI_IMPUTED, _CASSI_WITHOUT = 4, 82.46

#: Methods of the files that the tables speak of.
USED = (
    BLF,
    CASSI,
    GPT5,
    "pro-high-none-c1-p1-t0",
    "pro-high-none-c0-t0",
    "pro-high-brave-c0-t1",
    "pro-high-brave-c0-t1-nobelief",
    "pro-high-brave-c1-p1-t1-nobelief",
)

#: Rounding of the print: one decimal, and for overall the mean of two rounded ones.
ROUNDING = {"market": 0.06, "dataset": 0.06, "overall": 0.09}
PARTS = ("market", "dataset", "overall")
COLUMNS = ("A", "B", "all")

#: Tables 1, 9 and 17 as printed; the file says what its figures are.
PRINTED: dict[str, Any] = parse_yaml(
    Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"), "paper_b_tables.yaml"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableCell:
    """One printed figure and ours."""

    table: str
    row: str
    column: str
    printed: float | None
    ours: float | None
    tolerance: float
    why: str = ""
    printed_note: str = ""
    our_note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours minus printed; None where either is missing."""
        return None if self.printed is None or self.ours is None else self.ours - self.printed

    @property
    def agrees(self) -> bool:
        """Within the print's rounding, notes (stars, interval ends) included where both have them."""
        return self.difference is not None and abs(self.difference) <= self.tolerance


def _index(p: FloatArray, rows: IntArray, events: Events) -> dict[str, float | None]:
    return scorecard(p, rows, events, ["brier_index"])["brier_index"]


def _values_by_row(events: Events, published: Forecasts) -> dict[str, FloatArray]:
    crowd = np.where(events.kind == "market", events.probability("crowd"), events.probability("prior_static"))
    return {
        "BLF (Pro)": published.variant(BLF, "hier-cal"),
        "Cassi": published.variant(CASSI, "forecast"),
        "GPT-5 (ZS)": published.variant(GPT5, "forecast"),
        "crowd+emp": crowd,
        "Pro ZS+crowd+emp": published.variant("pro-high-none-c1-p1-t0", "forecast"),
    }


def _why(values: Mapping[str, FloatArray], events: Events, row: str, part: str, column: str = "all") -> str:
    if row not in values:
        return NOT_RELEASED
    if row == "Cassi" and part in ("market", "overall") and column in ("A", "all"):
        p = values["Cassi"]
        market = (events.kind == "market") & np.isfinite(p)
        imputed = market & (events.text("tranche") == "A") & (p == 0.5)
        rows = np.flatnonzero(market & ~imputed)
        index = _index(p[rows], rows, events)["market"] if len(rows) else None
        as_said = index is not None and abs(index - _CASSI_WITHOUT) < 0.005
        if imputed.sum() == _CASSI_IMPUTED and as_said:
            return CASSI_WHY
    return ""


def _table_1(
    events: Events, values: Mapping[str, FloatArray], *, resamples: int, seed: int
) -> Iterator[TableCell]:
    tranche = events.text("tranche")
    for row, printed in PRINTED["table_1"].items():
        for place, column in enumerate(COLUMNS):
            ours: dict[str, float | None] = {}
            if row in values:
                rows = np.flatnonzero(np.isfinite(values[row]) & ((tranche == column) | (column == "all")))
                ours = _index(values[row][rows], rows, events)
            for part in PARTS:
                if printed[part][place] is not None:
                    why = _why(values, events, row, part, column)
                    yield _cell("1", row, part, printed[part][place], ours.get(part), why, column=column)
    for difference in PRINTED["table_1_differences"]:
        row, against = difference["row"], difference["against"]
        pair = {name: values[name] for name in (row, against)}
        parts = bootstrap_comparisons(
            events, pair, against, by_question=False, resamples=resamples, seed=seed
        )[row]
        for part, (figure, mark) in zip(PARTS, difference["figures"], strict=True):
            result, why = parts[part], _why(values, events, row, part)
            if not why and result.stars != mark:
                why = f"p = {result.p_two_sided:.4f} two-sided, {result.p_one_sided:.4f} one-sided: beside a limit of the stars"
            cell = _cell(
                "1", f"{row} - {against}", part, figure, result.difference, why, notes=(mark, result.stars)
            )
            yield replace(cell, tolerance=cell.tolerance + 0.05)


def _cell(
    table: str, row: str, part: str, printed: float, ours: float | None, why: str = "",
    *, column: str = "", notes: tuple[str, str] = ("", ""),
) -> TableCell:  # fmt: skip
    return TableCell(
        table=table, row=row, column=f"{part} {column}".strip(), printed=printed, ours=ours,
        tolerance=ROUNDING[part], why=why, printed_note=notes[0], our_note=notes[1],
    )  # fmt: skip


def _table_9(
    events: Events, values: Mapping[str, FloatArray], *, resamples: int, seed: int
) -> Iterator[TableCell]:
    for row, figures in PRINTED["table_9"].items():
        ours, ends = dict[str, float](), dict[str, str]()
        if row in values:
            rows = np.flatnonzero(np.isfinite(values[row]))
            brier = (values[row][rows] - events.outcome[rows]) ** 2
            table = stratified_index(
                brier[:, None], (row,), events.kind[rows], resamples=resamples, seed=seed
            )
            for part in PARTS:
                ours[part] = float(table.estimates[part][0])
                interval = percentile_interval(ours[part], table.resampled[part][:, 0])
                ends[part] = f"[{interval.low:.1f}, {interval.high:.1f}]"
        for part, (figure, low, high) in zip(PARTS, figures, strict=True):
            notes = f"[{low}, {high}]", ends.get(part, "")
            yield _cell("9", row, part, figure, ours.get(part), _why(values, events, row, part), notes=notes)


def _table_17(events: Events, published: Forecasts, trials: Forecasts) -> Iterator[TableCell]:
    """Cells of Table 17 for the base model whose forecasts are in the dev files.

    The BLF row without crowd is shrunk in-sample (as published), then calibrated leaving out one event; the other
    calibrated rows start from the published forecast.
    """
    hier = Recipe(calibrate="platt-hier", loo="event")
    shrunk = Recipe(
        pool="shrink-prior", prior="prior_blf_asrun", tune="as-published", calibrate="platt-hier", loo="event"
    )
    plain = Recipe(pool="logit-mean")
    for printed in PRINTED["table_17"]:
        how = printed["how"]
        source, rest = how.split(" ", 1)
        method = rest.split(":")[0]
        raw = trials.trials(method) if source == "trials" else published.variant(method, "forecast")
        recipe = shrunk if "shrink" in how else hier if "Platt" in how else plain
        ready = prepare(raw, events, recipe)
        ours = scorecard(ready.p, ready.rows, events, ["brier_index"])["brier_index"]
        for part, figure in zip(PARTS, printed["figures"], strict=True):
            yield _cell("17", printed["row"], part, figure, ours[part], notes=("", how))
    for model in PRINTED["table_17_absent"]:
        yield TableCell(
            table="17", row=model, column="all cells", printed=None, ours=None, tolerance=0.0, why=NOT_RELEASED
        )  # fmt: skip


def paper_tables(
    events: Events, published: Forecasts, trials: Forecasts, *, resamples: int = 5000, seed: int = 0
) -> list[TableCell]:
    """All cells of Tables 1, 9 and 17 that concern these files.

    >>> events = Events.of([0, 1] * 20, kind=["market", "market", "dataset", "dataset"] * 10, crowd=0.5,
    ...                    tranche=["A"] * 20 + ["B"] * 20, prior_static=0.5, prior_blf_asrun=0.5)
    >>> flat = [0.4, 0.6] * 20
    >>> published = Forecasts.of(events, {m: {"forecast": flat, "hier-cal": flat} for m in USED}, keyed_by="variant")
    >>> trials = Forecasts.of(events, {m: {"1": flat, "2": flat} for m in USED}, keyed_by="trial")
    >>> cells = paper_tables(events, published, trials, resamples=10)
    >>> len(cells), round(cells[0].ours, 6)
    (106, 60.0)
    """
    values = _values_by_row(events, published)
    return [
        *_table_1(events, values, resamples=resamples, seed=seed),
        *_table_9(events, values, resamples=resamples, seed=seed),
        *_table_17(events, published, trials),
    ]
