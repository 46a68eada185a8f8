"""Honest reports of made-up leaves, and the same with one slip: cells with outputs, prose that quotes them, the closing block.

Every figure of the prose is printed by a cell, stands in the claim or a cell's parameters, or follows in one step from such figures.
"""

import json
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any

#: The words of each piece: its cell, the outputs that it may have, the sentences that may quote them.
PIECES: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class Quoted:
    """A figure of the prose, and how it is written."""

    value: float
    write: Callable[[float], str]

    def __str__(self) -> str:
        return self.write(self.value)


@dataclass
class MadeReport:
    """A report in pieces, so that one of them can be spoiled."""

    claim: str
    cells: list[tuple[str, str]]
    prose: list[str | Quoted]
    final: list[str | Quoted]
    block: dict[str, Any]
    evidence: list[int] = field(
        default_factory=list
    )  # places in the prose of figures that are printed as they are

    def row(self) -> dict[str, Any]:
        """Return it as a line of the corpora beside this file."""
        prose = "".join(map(str, [*self.prose, *self.final])).strip()
        return {
            "claim": self.claim,
            "cells": [{"source": source, "output": output} for source, output in self.cells],
            "reply": f"{prose}\n\n```json\n{json.dumps(self.block)}\n```",
        }


class _Writer:
    """One author: how numbers are written, and what is said of them."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.percent = self.rng.choice(["%", " %", "%", " percent", " per cent"])
        self.thousands = self.rng.choice([",", ",", "", "\u202f"])
        self.minus = self.rng.choice(["-", "−"])
        self.cells: list[tuple[str, str]] = []
        self.prose: list[str | Quoted] = []
        self.evidence: list[int] = []

    def pick(self, *choices: str) -> str:
        return self.rng.choice(choices) if len(choices) > 1 else choices[0]

    # -- how figures are written

    def share(self, decimals: int | None = None) -> Callable[[float], str]:
        places = self.rng.choice([0, 1, 1, 2]) if decimals is None else decimals
        if self.rng.random() < 0.25:
            return lambda value: f"{value:.{max(2, places + 1)}f}"
        return lambda value: f"{100 * value:.{places}f}{self.percent}"

    def rate(self) -> Callable[[float], str]:
        """A change in percent, with its sign."""
        return lambda value: f"{'+' if value > 0 else self.minus}{abs(value):.1f}{self.percent}"

    def percents(self, decimals: int) -> Callable[[float], str]:
        return lambda value: f"{value:.{decimals}f}{self.percent}"

    def whole(self, value: float) -> str:
        text = f"{value:,.0f}"
        # Four bare digits may be a year.
        return text.replace(",", self.thousands) if self.thousands or value >= 10_000 else text

    def level(self) -> Callable[[float], str]:
        if self.thousands == "\u202f":
            return lambda value: f"{value:,.2f}".replace(",", self.thousands)
        return lambda value: f"{value:,.2f}" if self.thousands else f"{value:.2f}"

    def amount(self) -> Callable[[float], str]:
        return self.rng.choice(
            [
                lambda value: f"{value / 1e6:.2f} million",
                lambda value: f"${value / 1e6:.2f}m",
                lambda value: f"{value / 1e3:,.0f} thousand",
                lambda value: f"{value:,.0f}",
                lambda value: f"{value / 1e9:.4f} billion",
            ]
        )

    # -- pieces

    def cell(self, source: str, output: str) -> None:
        self.cells.append((source, output))

    def say(self, template: str, **figures: Quoted) -> None:
        """Add a sentence; names that end in ``_`` are figures that follow from others."""
        for number, piece in enumerate(template.replace("}", "{").split("{")):
            if number % 2 == 0:
                self.prose.append(piece)
                continue
            if not piece.endswith("_"):
                self.evidence.append(len(self.prose))
            self.prose.append(figures[piece])
        self.prose.append(self.pick(" ", " ", " ", "\n\n"))

    def show(self, piece: str, **values: Any) -> None:
        """Add the cell of a piece with one of its outputs."""
        words = PIECES[piece]
        self.cell(words["cell"].format(**values), self.pick(*words["outputs"]).format(**values))

    def sentence(self, piece: str, **values: Any) -> str:
        return self.pick(*PIECES[piece]["sentences"]).format(**values)

    def aside(self) -> None:
        """A sentence with numbers that are no evidence."""
        rng = self.rng
        values = {
            "day": date(2016, 1, 4) + timedelta(days=rng.randrange(900)),
            "cell": rng.randint(2, 9),
            "years": rng.randint(2, 12),
            "since": rng.randint(1950, 1999),
            "days": rng.randint(21, 190),
            "months": rng.randint(2, 6),
            "band": rng.choice([80, 90, 95]),
            "leaf": rng.randint(1, 9),
            "quarter": rng.randint(1, 4),
            "year": rng.randint(2015, 2019),
            "rise": rng.randint(20, 60),
        }
        self.prose += [self.pick(*PIECES["asides"]).format(**values, percent=self.percent), " "]

    # -- what was found

    def windows(self) -> tuple[float, int]:
        n = self.rng.choice(
            [self.rng.randint(45, 400), self.rng.randint(400, 1500), self.rng.randint(2100, 9800)]
        )
        hits = max(3, round(n * self.rng.uniform(0.06, 0.94)))
        share, horizon = hits / n, self.rng.choice([21, 42, 63, 126, 180])
        self.show(
            "windows", horizon=horizon, hits=hits, n=n, share=share, percent=100 * share, misses=n - hits, missed=1 - share
        )  # fmt: skip
        figures = {
            "k": Quoted(hits, self.whole),
            "n": Quoted(n, self.whole),
            "q": Quoted(share, self.share()),
            "rest_": Quoted(n - hits, self.whole),
            "miss_": Quoted(1 - share, self.share(1)),
        }
        self.say(self.sentence("windows", horizon=horizon), **figures)
        return share, n

    def gap(self) -> None:
        last = round(self.rng.choice([self.rng.uniform(20, 99), self.rng.uniform(1000, 9000)]), 2)
        line = round(last * (1 + self.rng.uniform(-0.12, 0.12)), 2)
        sd = round(self.rng.uniform(1.2, 9.8), 2)
        self.show("gap", first=last * 0.993, second=last * 1.004, last=last, line=line)
        self.show("deviation", sd=sd)
        move, write = 100 * (line / last - 1), self.level()
        self.say(
            self.sentence("gap"),
            last=Quoted(last, write),
            line=Quoted(line, write),
            far_=Quoted(abs(line - last), write),
            move_=Quoted(abs(move), self.percents(1)),
        )
        if self.rng.random() < 0.6:
            sentence = self.sentence("deviation", p=self.percent)
            self.say(sentence, sd=Quoted(sd, "{:.2f}".format), z_=Quoted(abs(move) / sd, "{:.2f}".format))

    def table(self) -> None:
        values = [round(self.rng.uniform(110, 420), 1) for _ in range(self.rng.randint(5, 9))]
        unit = self.pick("", "k", " thousand")
        days = (f"201{2 + row % 7}-0{1 + row // 7}-01  {value}" for row, value in enumerate(values))
        self.show("table", rows="\n".join(days))
        *_, a, b, c = values
        figures = {
            "a": a, "b": b, "c": c, "top": max(values), "low": min(values), "mean_": sum(values) / len(values),
            "step_": abs(c - a), "range_": max(values) - min(values), "turn_": abs(c - b),
        }  # fmt: skip
        sentence = self.sentence("table", more="above" if c > b else "below")
        self.say(
            sentence, **{name: Quoted(value, f"{{:.1f}}{unit}".format) for name, value in figures.items()}
        )

    def events(self) -> None:
        rate, months = round(self.rng.uniform(0.04, 0.6), 3), self.rng.randint(3, 9)
        self.show("events", rate=rate)
        self.say(
            self.sentence("events", months=months),
            rate=Quoted(rate, "{:.3f}".format),
            sum_=Quoted(rate * months, "{:.2f}".format),
            some_=Quoted(100 * (1 - math.exp(-rate * months)), self.percents(0)),
        )

    def simulation(self) -> float:
        paths = self.rng.choice([5_000, 10_000, 20_000, 50_000])
        share = round(self.rng.uniform(0.07, 0.93), 4)
        self.show("simulation", paths=paths, share=share, percent=100 * share)
        self.say(
            self.sentence("simulation"),
            paths_=Quoted(paths, self.whole),
            share=Quoted(share, self.share(1)),
        )
        return share

    def money(self) -> None:
        value, before = self.rng.randint(1_100_000, 9_900_000), self.rng.randint(1_100_000, 9_900_000)
        self.show("money", value=value, before=before, value_m=value / 1e6, before_m=before / 1e6)
        write, more = self.amount(), 100 * (value / before - 1)
        self.say(
            self.sentence("money", way="above" if more > 0 else "below"),
            now=Quoted(value, write),
            before=Quoted(before, write),
            growth_=Quoted(abs(more), self.percents(1)),
        )

    def trend(self) -> None:
        change = round(self.rng.choice([-1, 1]) * self.rng.uniform(11, 38), 1)
        self.show("trend", change=change, share=change / 100)
        self.say(self.sentence("trend"), move=Quoted(change, self.rate()))

    def polls(self) -> None:
        mean, sd = round(self.rng.uniform(21, 58), 1), round(self.rng.uniform(1.1, 4.9), 2)
        n = self.rng.randint(21, 99)
        self.show("polls", mean=mean, sd=sd, n=n)
        self.say(
            self.sentence("polls"),
            n=Quoted(n, self.whole),
            mean=Quoted(mean, self.percents(1)),
            sd=Quoted(sd, "{:.2f}".format),
        )

    # -- the whole

    def conclusion(self, p: float) -> list[str | Quoted]:
        write = self.rng.choice(
            [
                lambda value: f"{100 * value:.0f}{self.percent}",
                lambda value: f"{value:.2f}",
                lambda value: f"{100 * value:.0f}{self.percent}",
            ]
        )
        before, after = self.rng.choice(PIECES["conclusions"])
        return [self.pick(" ", "\n\n") + before, Quoted(p, write), after]

    def report(self) -> MadeReport:
        base, n = self.windows()
        inside = None
        scenes = [self.gap, self.table, self.events, self.simulation, self.money, self.trend, self.polls]
        for scene in self.rng.sample(scenes, self.rng.randint(1, 4)):
            if self.rng.random() < 0.5:
                self.aside()
            found = scene()
            inside = found if found is not None else inside
        p = round(_shifted(base if inside is None else (base + inside) / 2, self.rng.uniform(-0.5, 0.5)), 2)
        step = round(p - base, 2)
        block: dict[str, Any] = {"p_true": p, "key_factor": "the record"}
        block["base_rate"] = self.rng.choice([round(base, 2), round(base, 3), round(base, 4)])
        block["n"] = n
        if self.rng.random() < 0.8:
            block["low"], block["high"] = round(max(p - 0.12, 0.01), 2), round(min(p + 0.11, 0.99), 2)
        if inside is not None and self.rng.random() < 0.7:
            block["inside_view"] = round(inside, 3)
        if step or self.rng.random() < 0.5:
            block["adjustments"] = self.rng.choice(
                [f"{step:+.2f} for the trend", [{"why": "the trend", "points": step}]]
            )
        return MadeReport(
            f"The series ends above the line by {date(2018, 12, 31) - timedelta(days=self.rng.randrange(90))}",
            self.cells, self.prose, self.conclusion(p), block, self.evidence,
        )  # fmt: skip


def _shifted(p: float, logits: float) -> float:
    bounded = min(max(p, 0.03), 0.97)
    return 1 / (1 + math.exp(-(math.log(bounded / (1 - bounded)) + logits)))


def honest_reports(seed: int, count: int) -> Iterator[MadeReport]:
    """Yield so many reports without a fault."""
    for number in range(count):
        yield _Writer(seed * 1_000_003 + number).report()


def _told(text: str) -> int:
    return len("".join(char for char in text.split("e")[0] if char.isdigit()).strip("0"))


def _changed(report: MadeReport, rng: random.Random) -> MadeReport | None:
    """A printed figure of three digits and more, 6 to 60 % off."""
    places = [place for place in report.evidence if _told(str(report.prose[place])) >= 3]
    if not places:
        return None
    place = rng.choice(places)
    return _with(
        report, place, lambda value: value * rng.choice([rng.uniform(0.62, 0.94), rng.uniform(1.06, 1.6)])
    )


def _swapped(report: MadeReport, rng: random.Random) -> MadeReport | None:
    """Two neighbouring digits of a printed figure the other way round."""
    options = []
    for place in report.evidence:
        text = str(report.prose[place])
        digits = [at for at, char in enumerate(text) if char.isdigit()]
        for first, second in pairwise(digits):
            if _told(text) >= 3 and text[first] != text[second] and text[second] != "0":
                options.append((place, text, first, second))
    if not options:
        return None
    place, text, first, second = rng.choice(options)
    swapped = [*text]
    swapped[first], swapped[second] = text[second], text[first]
    return replace(report, prose=[*report.prose[:place], "".join(swapped), *report.prose[place + 1 :]])


def _sign(report: MadeReport, rng: random.Random) -> MadeReport | None:
    places = [place for place in report.evidence if str(report.prose[place])[0] in "+-−"]
    return _with(report, rng.choice(places), lambda value: -value) if places else None


def _with(report: MadeReport, place: int, spoil: Callable[[float], float]) -> MadeReport:
    quoted = report.prose[place]
    assert isinstance(quoted, Quoted)
    for _ in range(200):  # until it is a figure of its own; a share stays one
        value = spoil(quoted.value)
        # As it is written: 0.2 % for 0.21 is no slip.
        if quoted.write(value) != str(quoted) and not (0 < quoted.value <= 1 < value):
            return replace(
                report,
                prose=[*report.prose[:place], replace(quoted, value=value), *report.prose[place + 1 :]],
            )
    return report


def _n(report: MadeReport, rng: random.Random) -> MadeReport:
    n = report.block["n"]
    other = max(round(n * rng.choice([rng.uniform(0.5, 0.9), rng.uniform(1.1, 2.5)])), 21)
    return replace(report, block={**report.block, "n": other})


def _base_rate(report: MadeReport, rng: random.Random) -> MadeReport:
    base = report.block["base_rate"]
    other = next(
        value
        for _ in range(1000)
        if abs((value := round(rng.uniform(0.03, 0.97), 3)) - base) > max(0.05, 0.05 * base)
    )
    return replace(report, block={**report.block, "base_rate": other})


def _bounds(report: MadeReport, rng: random.Random) -> MadeReport:
    p = report.block["p_true"]
    below = rng.random() < 0.5 and p > 0.1
    low, high = (
        (round(p / 3, 2), round(p * 0.8, 3))
        if below
        else (round(p + 0.2 * (1 - p), 3), round(p + 0.8 * (1 - p), 3))
    )
    return replace(report, block={**report.block, "low": low, "high": high})


def _other_p(report: MadeReport, rng: random.Random) -> MadeReport:
    """The prose arrives at one number and the block holds another; the bounds go with the block."""
    p = report.block["p_true"]
    other = next(value for _ in range(1000) if abs((value := round(rng.uniform(0.03, 0.97), 2)) - p) > 0.06)
    block = {name: value for name, value in report.block.items() if name not in ("low", "high")}
    return replace(report, block={**block, "p_true": other})


#: The slips that a conclusion may hold, by name.
SLIPS: dict[str, Callable[[MadeReport, random.Random], MadeReport | None]] = {
    "figure changed": _changed,
    "digits swapped": _swapped,
    "wrong sign": _sign,
    "invented n": _n,
    "base rate from nowhere": _base_rate,
    "p outside its bounds": _bounds,
    "prose and number": _other_p,
}


def slipped_reports(seed: int, count: int) -> Iterator[tuple[str, MadeReport]]:
    """Yield reports with one slip each, all slips in turn, with its name; a report that has no place for it is left out."""
    rng = random.Random(seed)
    reports = honest_reports(seed + 1, 100 * count)
    for number in range(count):
        name = [*SLIPS][number % len(SLIPS)]
        yield next((name, slipped) for report in reports if (slipped := SLIPS[name](report, rng)) is not None)
