"""Scores of forecasts against what happened: of files, of numbers, and of this home's own resolved runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from workbench.errors import Option, UsageError
from workbench.formatting import SCORE_WORDS, counted, outcome_words, percent, signed_figure
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Facts, Remark, Table, columns, named
from workbench.operations.fields import Words
from workbench.operations.forecast_files import ExamFiles, consistency, left_out, with_interval
from workbench.output_files import write_output
from workbench.science.recipe import Recipe

#: What the own record calls its scores; each is explained below the table (`SCORE_WORDS`).
_PLAIN_NAMES = {
    "brier": "Brier score",
    "brier_index": "Brier Index",
    "metaculus_baseline": "Metaculus score",
    "ece": "calibration error",
    "log_loss": "log loss",
}
#: Scores on a scale of 100.
_IN_POINTS = ("brier_index", "metaculus_baseline", "abi")


class Score(Recipe, Operation):
    """Score forecasts by question type and overall.

    Overall is the mean of the question types, but ece and log_loss pool all events. ``abi`` takes its question
    effects from all methods of the forecasts file. Forecasts of numbers (--values, --quantiles) get CRPS and PIT in a table of their own. In brackets stands the 95% interval over clusters, all else held fixed; beside a calibration error what a calibrated forecaster of the same forecasts would show.
    """

    short = ("events", "forecasts", "values", "quantiles", "own", "method", "calibrate", "metrics", "by")
    unlisted = ("pool", "prior", "tune", "ddof", "loo", "variant", "subsets", "steps", "exam")

    events: Path | None = None
    """Events: CSV (gzip too) or parquet."""
    forecasts: Path | None = None
    """Forecasts: CSV (gzip too) or parquet."""
    values: Path | None = None
    """Numbers that are asked for, with what came: event_id, value, low, high."""
    quantiles: Path | None = None
    """Forecasts of numbers: method, event_id, share, value; CSV (gzip too) or parquet."""
    own: bool = False
    """Score this home's own resolved runs instead of files; with Brier over time."""
    steps: bool = False
    """With --own: how agents' loops worked (steps, tokens, evidence), and the Brier score of their beliefs step by step."""
    history: list[Path] = []
    """With --own: forecasts made elsewhere (Metaculus, Good Judgment, Manifold or a plain CSV), scored beside."""
    out: Path | None = None
    """With --own: the forecasts as a table, .csv or .parquet."""
    method: Words = []
    """Methods, by comma; all when not given."""
    variant: str = "forecast"
    """Which published forecast of a file that has several."""
    subsets: int | None = None
    """Average the scores over all subsets of K trials."""
    metrics: Words = []
    """By comma; the usual ones when not given."""
    by: str = ""
    """Also score within each value of this column."""
    baseline: Words = []
    """Add baselines, by comma: 0.5, crowd, crowd+prior_temporal, ..."""
    utility: str = ""
    """Also soft and hard utility of going long or short: plain, analytica-paper (5% over days / 252, 0.02, gain at most +100%)."""
    price: str = "crowd"
    """Column with the price of a Yes share, for `utility`."""
    resamples: Annotated[int, Field(ge=0)] = 2000
    """Resamples behind each 95% interval; 0 for none."""
    seed: int = 20261122
    """Seed of the resampling."""
    exam: str | None = None
    """Only the events of this exam (`exam build` makes one)."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the scores of each method, with ``n``, ``intervals`` and what was ``fitted``; of own runs ``runs`` and ``record`` too."""
        from workbench.science.comparing.mean_intervals import Resampling
        from workbench.science.documents import UtilityRule, quantile_document, score_document
        from workbench.science.quantile_tables import read_quantiles, read_targets

        if self.values is not None or self.quantiles is not None:
            if (
                self.values is None
                or self.quantiles is None
                or self._names("events", "forecasts", "own", "exam")
            ):
                raise UsageError(
                    "numbers are scored by --values FILE and --quantiles FILE, apart from probabilities: no --events, --forecasts, --own or --exam"
                )
            targets = read_targets(self.values)
            return quantile_document(targets, read_quantiles(self.quantiles, targets), methods=self.method)
        resampling = Resampling(resamples=self.resamples, seed=self.seed)
        if self.own:
            return self._own(home, resampling)
        if self.steps:
            raise UsageError("--steps needs --own, because files of forecasts hold no steps")
        if self._names("history", "out"):
            raise UsageError(Option("history"), " and ", Option("out"), " need --own")
        if self.events is None or self.forecasts is None:
            raise UsageError(
                "score needs --events FILE and --forecasts FILE, or --own for the runs of this home"
            )
        files = ExamFiles(events=self.events, forecasts=self.forecasts, exam=self.exam)
        events, forecasts, said = files.chosen(home)
        document = score_document(
            events,
            forecasts,
            self,
            metrics=self.columns,
            methods=self.method,
            variant=self.variant,
            baselines=self.baseline,
            by=self.by,
            subsets=self.subsets,
            resampling=resampling,
            utility=UtilityRule(rule=self.utility, price=self.price) if self.utility else None,
        )
        return document | said

    def _names(self, *names: str) -> bool:
        return any(getattr(self, name) for name in names)

    @property
    def columns(self) -> Sequence[str]:
        """The metrics that are shown."""
        return chosen_metrics(self.metrics)

    def _own(self, home: Home, resampling: Any) -> dict[str, Any]:
        # reads every run of the home
        from workbench.audit.forecast_histories import history_scores
        from workbench.audit.home_scores import own_document
        from workbench.audit.step_scores import steps_document
        from workbench.audit.track_record import table_bytes, track_record

        if self._names("events", "forecasts", "exam", "method", "baseline", "subsets"):
            raise UsageError(
                "--own scores the runs of this home: no events, forecasts, exam, method, baseline or subsets"
            )
        if self.steps:
            return steps_document(home.store, resampling)
        document = {
            **own_document(home.store, self, metrics=self.columns, by=self.by, resampling=resampling),
            "record": track_record(home.store),
            "histories": [history_scores(path) for path in self.history],
        }
        if self.out is not None:
            write_output(self.out, table_bytes(document["runs"], self.out))
        return document

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return the table of scores, and what belongs below it."""
        if self.values is not None:
            yield from _numbers(document)
        elif self.steps:
            yield from _steps(document)
        elif self.own:
            yield self._scores(
                {row["label"]: row for row in _own_entries(document)}, ("overall",), plain=True
            )
            yield from _own_record(document, [_PLAIN_NAMES.get(each, each) for each in self.columns])
        else:
            entries = document["methods"]
            parts = next(iter(entries.values()))[self.columns[0]]
            yield self._scores(entries, [part for part in parts if part in ("market", "dataset", "overall")])
            yield from consistency(document)
            yield from left_out(document)
            if self.utility:
                rows = [
                    {"name": name, **entry["utility"]}
                    for name, entry in entries.items()
                    if "utility" in entry
                ]
                yield columns(
                    rows, **{f"utility ({self.utility})": "name"}, n="n", accuracy="accuracy", soft="soft", hard="hard",
                    soft_pooled="soft_pooled", hard_pooled="hard_pooled", confidence="confidence",
                )  # fmt: skip

    def _scores(
        self, entries: Mapping[str, Mapping[str, Any]], parts: Sequence[str], *, plain: bool = False
    ) -> Table:
        from workbench.science.scoring.scorecard import BINNED

        header = ["", "runs", "independent"] if plain else ["method", "n", "clusters"]
        header, rows = [*header, "days asked on"], []
        for metric in self.columns:
            for part in parts:
                name = _PLAIN_NAMES.get(metric, metric) if plain else f"{metric} {part}".strip()
                header += [name, "by luck alone"] if metric in BINNED else [name]
        for name, entry in entries.items():
            row: list[Any] = [name, entry["n"]["overall"], entry["n"]["clusters"], entry["n"]["days"]]
            for metric in self.columns:
                for part in parts:
                    score = entry.get(metric, {}).get(part)
                    interval = entry.get("intervals", {}).get(metric, {}).get(part)
                    digits = own_digits(metric, row[1]) if plain else 3
                    if metric in BINNED:
                        calibrated = entry.get("calibrated", {}).get(metric, {}).get(part) or {}
                        row += [_rounded(score, digits), _rounded(calibrated.get("expected"), digits)]
                    elif plain and interval is not None:
                        row.append(f"{score:.{digits}f}[{interval[0]:.{digits}f},{interval[1]:.{digits}f}]")
                    else:
                        row.append(_rounded(score, digits) if plain else with_interval(score, interval))
            rows.append(row)
        return Table(header, rows)


class ScoreSet(Operation):
    """Score a file of forecasts on a set. Forecasts that cannot be scored are listed with the reason.

    Probabilities (--forecasts) get Brier scores, numbers (--quantiles) CRPS; neither enters the other's table.
    """

    places = ("name",)
    short = ("forecasts", "quantiles", "method", "metrics", "by")

    name: str
    """Name of a set."""
    forecasts: Path | None = None
    """Forecasts: CSV (gzip too) or parquet."""
    quantiles: Path | None = None
    """Forecasts of numbers: method, event_id, share, value; CSV (gzip too) or parquet."""
    method: Words = []
    """Methods, by comma; all when not given."""
    variant: str = "forecast"
    """Which published forecast of a file that has several."""
    metrics: Words = []
    """By comma; the usual ones when not given."""
    by: str = ""
    """Also score within each value of this column."""
    baseline: Words = []
    """Add baselines, by comma: 0.5, crowd, ..."""

    def answer(self, home: Home) -> dict[str, Any]:
        """Return the scores of each method."""
        from workbench.questions.sets.question_sets import load_set
        from workbench.questions.sets.set_scores import score_set, score_set_quantiles

        questions = load_set(home.store, self.name)
        if self.quantiles is not None and self.forecasts is None:
            return score_set_quantiles(questions, self.quantiles, self.method)
        if self.forecasts is None or self.quantiles is not None:
            raise UsageError("name one file: --forecasts of probabilities, or --quantiles of numbers")
        return score_set(
            questions,
            self.forecasts,
            metrics=chosen_metrics(self.metrics),
            methods=self.method,
            variant=self.variant,
            by=self.by,
            baselines=self.baseline,
        )

    def show(self, document: dict[str, Any]) -> Iterator[Block]:
        """Return a row for each method."""
        if self.quantiles is not None:
            yield from _numbers(document)
            return
        metrics = {metric: f"{metric}.overall" for metric in chosen_metrics(self.metrics)}
        yield columns(named(document["methods"]), method="name", n="n.overall", **metrics)
        yield from consistency(document)
        yield Remark(
            f"{document['scored']} events scored; {len(document['unscored'])} entries are not, `questions show {self.name}` says why"
        )


def chosen_metrics(names: Sequence[str]) -> Sequence[str]:
    """Return the metrics named, or the usual ones; raises ``UnknownName``."""
    from workbench.science.scoring.scorecard import DEFAULT_METRICS, check_metrics

    return check_metrics(names or DEFAULT_METRICS)


def own_digits(metric: str, n: int) -> int:
    """Return the decimals that a mean over so many runs supports: its last digit is a fifth of the chance error or more.

    >>> own_digits("brier", 16), own_digits("brier", 400), own_digits("brier_index", 16), own_digits("brier_index", 400)
    (2, 3, 0, 1)
    """
    decimals = 2 if n < 100 else 3 if n < 10_000 else 4
    return decimals - 2 if metric in _IN_POINTS else decimals


def _rounded(score: float | None, digits: int) -> str | None:
    return None if score is None else f"{score:.{digits}f}"


def _own_entries(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    names = {"own": "answers", "base_rate": "base rate", "0.5": "always 50%"}
    for name, entries in document["methods"].items():
        for label, entry in ((name, entries), *entries.get("by", {}).items()):
            yield {"label": names.get(label, label), **entry}


def _own_record(document: Mapping[str, Any], shown: Sequence[str]) -> Iterator[Block]:
    explained = (*shown, "95% interval", "independent")
    yield Facts([(name, words) for name, words in SCORE_WORDS.items() if name in explained])
    made = ("live", "back-test")
    records = {
        origin: document["record"][origin] for origin in made if document["record"][origin] is not None
    }
    for origin, record in records.items():
        if (line := record["base_rate"]["line"]) is not None:
            yield f"{origin}: {line}"
    yield columns(
        document["over_time"], month="month", runs="n", Brier_score="brier .2f", so_far="brier_so_far .2f"
    )
    runs = [{**row, "came": outcome_words(row["outcome"])} for row in document["runs"]]
    yield columns(
        runs, day="day", run="run_id", p="p %", base_rate="base_rate %", outcome="came", Brier_score="brier .3f", made="made", claim="statement",
    )  # fmt: skip
    for origin, record in records.items():
        bins = [
            {**row, "range": f"{percent(row['from'])} to {percent(row['to'])}"}
            for row in record["reliability"]
        ]
        yield columns(
            bins, **{f"{origin}: said": "range"}, runs="n", independent="clusters", on_average="said %", came_true="true %",
            **{"95% from": "low %"}, to="high %",
        )  # fmt: skip
        yield f"{origin}: answers lie {100 * record['sharpness']['from_half']:.1f} points from 50% on average; calibration: {record['calibration']['verdict']}"
        for row in record["overrides"]:
            yield f"{origin}: {row['scenario']} of {row['author'] or 'nobody named'} said {percent(row['p'])}, the model {percent(row['model'])}: Brier {signed_figure(row['gain'], 3)} better"
        for row in record["people"]:
            yield f"{origin}: {row['author']}: Brier {row['brier']:.3f} over {row['claims']} claims and {row['drivers']} drivers, the model {row['model_brier']:.3f} over the same"
        for row in record["surprises"][:5]:
            yield f"{origin}: {row['node']} of {row['run_id']} was held {percent(row['p'])} and came out {outcome_words(row['outcome'])}: known, it moves the claim by {signed_figure(100 * row['moved'])} points"
    for row in document["histories"]:
        peer = "" if row["peer"] is None else f", {signed_figure(row['peer'])} against the crowd (100 ln)"
        yield f"{row['file']}: {counted(row['n'], 'forecast')}, Brier {row['brier']:.3f}{peer}"
    yield from _left_out(document)


def _left_out(document: Mapping[str, Any]) -> Iterator[Block]:
    for row in document["left_out"]:
        yield Remark(f"not counted: {row['run_id']}: {row['reason']}")


def _steps(document: Mapping[str, Any]) -> Iterator[Block]:
    arms = document["arms"]
    medians = [
        {"arm": name, "trials": arm["n"], **arm["statistics"], "submitted as believed": f"{arm['consistent']['same']} of {arm['consistent']['n']}"}
        for name, arm in arms.items()
    ]  # fmt: skip
    if medians:
        yield Table(list(medians[0]), [[*row.values()] for row in medians])
    for name, arm in arms.items():
        if (by_step := arm["by_step"]) is None:
            yield Remark(
                f"{name}: no driver with beliefs by step has an outcome yet (`workbench resolve RUN --leaves`)"
            )
            continue
        rows = [
            {**row, "low": (row["interval"] or [None])[0], "high": (row["interval"] or [None])[-1]}
            for row in by_step["steps"]
        ]
        yield columns(
            rows, **{f"{name}: step": "step"}, Brier="brier", low="low", high="high", still_at_work="working"
        )
        yield f"{counted(by_step['n'], 'driver')} of {counted(by_step['runs'], 'run')}; step 0 is a belief of 0.5"
    yield from _left_out(document)


def _numbers(document: Mapping[str, Any]) -> Iterator[Block]:
    """Show CRPS (lower is better) apart from every Brier score."""
    levels = len(document["shares"])
    # Of few levels it is some way off the CRPS of the whole distribution, and comparable within one table only.
    score = f"CRPS by {counted(levels, 'level')}"
    rows = []
    for entry in named(document["methods"]):
        row = {"method": entry["name"], "n": entry["n"]}
        for unit in document["units"]:
            mean = entry["crps"].get(unit) if entry["n"] else None
            row[f"{score}, {unit}" if unit else score] = mean and with_interval(
                mean["mean"], mean["interval"]
            )
        mean = entry["crps_percent"] if entry["n"] else None
        row["% of range"] = mean and with_interval(mean["mean"], mean["interval"])
        for band in ("0.5", "0.8", "0.9"):
            share = entry["coverage"].get(band) if entry["n"] else None
            row[f"in {float(band):.0%} band"] = None if share is None else f"{share:.0%}"
        row["PIT, 10 bins"] = " ".join(map(str, entry["pit"])) if entry["n"] else None
        rows.append(row)
    yield Table(list(rows[0]), [[*row.values()] for row in rows])
    for entry in named(document["methods"]):
        if entry["missing"]:
            yield Remark(
                f"{entry['name']} has no forecast of {entry['missing']} of {counted(document['numbers'], 'number')}"
            )
