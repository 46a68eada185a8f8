"""Questions of a model's exam, drawn before the model is named: claims on series at random cutoffs, and events of a person's sets.

The draw becomes a set of questions in the event log, with its seed in its name and the yardsticks beside each question, so every
model of this home is asked the same, and the log says that it was drawn before.
"""

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import numpy as np

from workbench.backtests.claim_backtest import AskedClaim, BacktestJob, perform
from workbench.backtests.claim_record import known_rows
from workbench.backtests.claim_templates import ClaimTemplate, Span, series_of_templates
from workbench.backtests.known_rows import KnownRows
from workbench.backtests.parallel import run_jobs
from workbench.engine.ownership import own_folder
from workbench.errors import Option, UsageError
from workbench.questions.errors import ClaimRefused
from workbench.questions.formats.base import QuestionFile
from workbench.questions.question import Question, events_of
from workbench.questions.series.embedded_series import DATA_END
from workbench.questions.series.series_registry import series_named
from workbench.questions.series.value_states import KnownRow
from workbench.questions.sets.question_sets import SORT, add_questions, load_set, resolved_days
from workbench.resources import cores
from workbench.store import Store

#: Columns of an exam's questions: the yardsticks' probabilities.
BASE_RATE_COLUMN, FORECASTER_COLUMN = "base_rate", "forecaster"
#: Of every series' history so much is left to learn from.
_LEARNING = timedelta(days=5 * 365)
#: Cutoffs of ``recent`` lie within so many days before today.
_RECENT = timedelta(days=365)
_HORIZONS, _RECENT_HORIZONS = (
    (Span(months=1), Span(months=3), Span(months=6)),
    (Span(days=14), Span(months=1)),
)
#: Claims that the embedded data decide, without a key or a network.
EMBEDDED = (
    "The S&P 500 closes higher on {end} than on {start}",
    "The S&P 500 closes above {last*1.05} on {end}",
    "The S&P 500 never closes 5% or more below its {start} close through {end}",
    "The NASDAQ closes higher on {end} than on {start}",
    "The NASDAQ closes below {last*0.95} on {end}",
    "VIX closes above {median} on {end}",
    "VIX closes above {last} on {end}",
    "WTI closes higher on {end} than on {start}",
    "WTI closes above {last*1.1} on {end}",
    "The AAA yield is above {last} on {end}",
    "The BAA yield is above {last} on {end}",
    "The BAA-AAA spread is above {last} on {end}",
)
#: Claims on series that go on, read without a key over the network.
KEYLESS = tuple(
    text.format(name=f"yahoo:{name}")
    for name in ("^GSPC", "^VIX", "AAPL", "MSFT", "JPM", "XOM", "EURUSD=X", "GC=F", "CL=F", "BTC-USD")
    for text in (
        "{name} closes higher on {{end}} than on {{start}}",
        "{name} closes above {{last*1.03}} on {{end}}",
    )
)


def exam_set(
    store: Store,
    count: int,
    *,
    recent: bool = False,
    sets: Sequence[str] = (),
    say: Callable[[str], None] = lambda line: None,
    processes: int | None = None,
    seed: int | None = None,
) -> str:
    """Return the name of this home's set of exam questions of a kind; the first call draws it, whatever model is asked for.

    Raises `UsageError`: Nothing can be drawn: no series can be read, or no set has a resolved event. Raises `RunInWork`: Another process
    draws.
    """
    if count < 1:
        raise UsageError("an exam has at least one question: ", Option("questions"))
    kind = "recent" if recent else "embedded"
    if sets:
        kind += f"-{hashlib.sha256(' '.join(sorted(set(sets))).encode()).hexdigest()[:6]}"
    with own_folder(store.home / "exams" / "draw", what="a draw of exam questions"):
        drawn = {
            match[0]: (int(match[1]), int(match[2]))
            for name in store.streams(SORT)
            if (match := re.fullmatch(rf"exam-{kind}-(\d+)-seed(\d+)", name))
        }
        for name, (size, own) in drawn.items():
            if size == count and seed in (None, own) and load_set(store, name).questions:
                return name
        if seed is None:
            seed = next((own for _, own in drawn.values()), secrets.randbelow(10**9))
        name = f"exam-{kind}-{count}-seed{seed}"
        events = _event_questions(store, sets, count // 2, seed) if sets else []
        if sets and not events:
            raise UsageError(f"no event of {', '.join(sets)} has a cutoff and a yes-or-no outcome")
        say(f"drawing {count} questions with seed {seed}: they are fixed before any model is asked")
        rows = drawn_claims(
            count - len(events), seed=seed, recent=recent, processes=processes or min(2, cores())
        )
        questions = [*(_drawn_question(row) for row in rows), *events]
        if not questions:
            raise UsageError("no question could be drawn: the series cannot be read, or are too short")
        reading = QuestionFile(questions=tuple(questions), left_out=())
        add_questions(store, name, reading, form="exam", origin=f"drawn with seed {seed}")
    return name


def drawn_claims(count: int, *, seed: int, recent: bool = False, processes: int = 1) -> list[AskedClaim]:
    """Return claims at random cutoffs with base rate, key-free forecast and outcome, in the order of the draw.

    A claim that could not be asked, or that nobody knows the outcome of, is drawn again; values decide nothing of the choice.
    """
    templates = KEYLESS if recent else EMBEDDED
    known = None
    if recent:
        known = _known_elsewhere(templates)
        templates = tuple(text for text in templates if _template(text).check().series in known.series)
        if not templates:
            raise UsageError(
                "no current series can be read here: an exam of current questions needs the network"
            )
    draw = _drawn_jobs(templates, recent=recent, seed=seed)
    rows: dict[tuple[str, str], AskedClaim] = {}
    for _ in range(10):  # a tenth or so is refused
        wanted = count - len(rows)
        if wanted <= 0:
            break
        jobs = [next(draw) for _ in range(wanted)]
        order = {(job.cutoff.isoformat(), job.templates[0].text): place for place, job in enumerate(jobs)}
        if known is not None:
            jobs = [replace(job, known=known) for job in jobs]
        done = [row for part in run_jobs(perform, jobs, processes=processes) for row in part]
        for row in sorted(done, key=lambda row: order[row.cutoff, row.text]):
            if row.forecast is not None:
                rows.setdefault((row.forecast.statement, row.cutoff), row)
    return list(rows.values())[:count]


def _drawn_jobs(templates: Sequence[str], *, recent: bool, seed: int) -> Iterator[BacktestJob]:
    rng = np.random.default_rng([seed, recent])
    horizons = _RECENT_HORIZONS if recent else _HORIZONS
    last = datetime.now(UTC).date() if recent else DATA_END
    while True:
        text, horizon = (
            templates[int(rng.integers(len(templates)))],
            horizons[int(rng.integers(len(horizons)))],
        )
        first = last - _RECENT if recent else max(date(1995, 1, 1), _first_day(text) + _LEARNING)
        room = (last - (horizon.after(last) - last) - first).days
        share = rng.random()
        if room > 0:
            cutoff = first + timedelta(days=int(share * room))
            yield BacktestJob(cutoff=cutoff, templates=(_template(text, horizon),), forecaster="tree")


def _template(text: str, horizon: Span = _HORIZONS[0]) -> ClaimTemplate:
    return ClaimTemplate(text=text, family=text, horizon=horizon)


def _first_day(text: str) -> date:
    sources = _template(text).check().sources
    return max(first for name in sources if (first := series_named(name).first) is not None)


def _known_elsewhere(texts: Sequence[str]) -> KnownRows:
    series: dict[str, tuple[KnownRow, ...]] = {}
    for name in series_of_templates([_template(text, _RECENT_HORIZONS[0]) for text in texts]):
        with suppress(ClaimRefused):  # what cannot be read is not asked about
            series |= known_rows((name,), "now", None).series
    return KnownRows(series)


def _drawn_question(row: AskedClaim) -> Question:
    forecast = row.forecast
    assert forecast is not None, "only claims with an outcome are kept"
    name = f"{forecast.series}-{row.cutoff}-{hashlib.sha256(forecast.statement.encode()).hexdigest()[:8]}"
    return _with_yardsticks(
        Question(
            id=name,
            title=forecast.statement,
            source="drawn",
            category=forecast.series,
            asked_on=row.cutoff,
            horizons=(forecast.end,),
            closes_on=forecast.end,
        ),
        forecast.outcome,
        base_rate=forecast.base_rate,
        forecaster=forecast.p,
        series=forecast.series,
    )


def _event_questions(store: Store, sets: Sequence[str], count: int, seed: int) -> list[Question]:
    """Resolved yes-or-no questions of a person's sets, chosen by a hash of seed and id; their base rate is of those resolved before."""
    chosen = []
    for name in dict.fromkeys(sets):
        days = resolved_days(store, name)
        questions = load_set(store, name).questions.values()
        for question in questions:
            events = events_of(question)
            if len(events) != 1 or events[0].outcome not in (0.0, 1.0) or not question.asked_on:
                continue
            before = [
                p
                for event, (p, day) in days.items()
                if day and day < question.asked_on and event != events[0].id
            ]
            rate = (sum(before) + 1.0) / (len(before) + 2.0)
            rank = hashlib.sha256(f"{seed}\x1f{name}\x1f{question.id}".encode()).digest()
            chosen.append((rank, name, question, events[0].outcome, rate))
    chosen.sort(key=lambda each: each[0])
    return [
        _with_yardsticks(
            Question.from_json({**question.to_json(), "id": f"{name}-{question.id}"}),
            outcome,
            base_rate=rate,
            forecaster=None,
            series=f"{name}-{question.id}",
        )
        for _, name, question, outcome, rate in chosen[:count]
    ]


def _with_yardsticks(
    question: Question, outcome: float, *, base_rate: float, forecaster: float | None, series: str
) -> Question:
    columns = {
        **question.extra,
        "series": series,
        BASE_RATE_COLUMN: f"{base_rate:.6f}",
        FORECASTER_COLUMN: "" if forecaster is None else f"{forecaster:.6f}",
    }
    event = events_of(question)[0].id
    return Question.from_json(
        {**question.to_json(), "extra": columns, "outcomes": {event: outcome}, "question_type": "dataset"}
    )
