"""Forecasters of known skill: a model server whose every number is the truth with an error of known size and correlation.

A world's questions name themselves ("event 7 of world 1"), so the server finds the truth from a request alone: whatever loop, preset or
pooling asked it. Errors are made from a hash of who errs about what, so the same world gives the same answers on every machine.

    world = World(events=20)
    with OpenAIServer(world.forecasters()) as server:
        ...
    excess_brier(0.4, world.truth(7))
"""

import hashlib
import math
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from statistics import NormalDist
from typing import Any

from tests.fakes.model_policy import Asked, Policy, analysis_block, fenced, report_with

_NAMED = re.compile(r"(?:driver (\d+) of )?(event|choice|number) (\d+) of world (\d+)", re.IGNORECASE)
_DRIVERS = 3
_INTERCEPT, _WEIGHT = 0.03, 0.94
_OPTIONS = ("Ann", "Bo", "Cy", "Di")
_LEVELS = (5, 10, 25, 50, 75, 90, 95)
#: Where the forecasts of a round end: 60 days from now.
CLOSES = (datetime.now(UTC).date() + timedelta(days=60)).isoformat()


def draw(*key: object) -> float:
    """A standard normal number that belongs to a key."""
    digest = hashlib.sha256("\x1f".join(map(str, key)).encode()).digest()
    return NormalDist().inv_cdf((int.from_bytes(digest[:7]) + 0.5) / 2**56)


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def shifted(p: float, error: float) -> float:
    """A probability with an error in logits, as a model would write it."""
    return round(min(max(sigmoid(logit(p) + error), 0.001), 0.999), 4)


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """The error of one forecast, in logits (of a number: in standard deviations of the truth)."""

    sd: float = 0.8
    bias: float = 0.0
    #: Correlation of two samples of one model on one question, and of two models; what all models share is in both.
    samples: float = 0.5
    models: float = 0.3

    def __post_init__(self) -> None:
        assert 0 <= self.models <= self.samples <= 1 and self.sd >= 0

    def error(self, *, shared: object, about: object, model: str, sample: int) -> float:
        """The error of a model's sample ``about`` something; ``shared`` is what all errors on one question have in common."""
        parts = (
            math.sqrt(self.models) * draw("question", shared),
            math.sqrt(self.samples - self.models) * draw("model", about, model),
            math.sqrt(1 - self.samples) * draw("sample", about, model, sample),
        )
        return self.bias + self.sd * sum(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """Questions whose truth is known: events that come about by their drivers, choices, and numbers."""

    seed: int = 1
    events: int = 0
    choices: int = 0
    numbers: int = 0
    #: Skill by what is asked: ``direct``, ``driver``, ``weights``, ``choice``, ``number``.
    skills: Mapping[str, Skill] = field(default_factory=dict)
    #: The errors of who was shown news are this many times as large.
    news: float = 1.0
    #: How much harder some questions are than others: standard deviation of the logarithm of a question's errors.
    difficulty: float = 0.0

    def title(self, kind: str, place: int) -> str:
        return f"Does {kind} {place} of world {self.seed} come about by {CLOSES}?"

    def questions(self) -> list[dict[str, Any]]:
        """The questions as `questions import` takes them."""
        counts = {"event": self.events, "choice": self.choices, "number": self.numbers}
        kinds: Mapping[str, dict[str, Any]] = {
            "event": {},
            "choice": {"kind": "options", "options": list(_OPTIONS)},
            "number": {"kind": "numeric", "low": 0, "high": 100, "open_high": True},
        }
        return [
            {"id": f"{kind}{place}", "title": self.title(kind, place), "closes_on": CLOSES, **kinds[kind]}
            for kind, count in counts.items()
            for place in range(count)
        ]

    def driver(self, event: int, place: int) -> float:
        """True probability of one of an event's drivers."""
        return sigmoid(-0.6 + 2.2 * draw("driver", self.seed, event, place))

    def weights(self, event: int) -> tuple[float, ...]:
        """How much each driver of an event counts, in truth."""
        raw = [math.exp(0.5 * draw("weight", self.seed, event, place)) for place in range(_DRIVERS)]
        return tuple(_WEIGHT * each / sum(raw) for each in raw)

    def truth(self, event: int) -> float:
        """True probability of an event."""
        weights = self.weights(event)
        return _INTERCEPT + sum(weight * self.driver(event, n) for n, weight in enumerate(weights))

    def shares(self, choice: int) -> dict[str, float]:
        """True probabilities of a choice's options."""
        odds = {name: math.exp(1.2 * draw("option", self.seed, choice, name)) for name in _OPTIONS}
        return {name: each / sum(odds.values()) for name, each in odds.items()}

    def number(self, number: int) -> NormalDist:
        """What a number is distributed like."""
        return NormalDist(50 + 12 * draw("middle", self.seed, number), 6 * math.exp(0.3 * draw("width", self.seed, number)))  # fmt: skip

    def error(
        self, what: str, question: tuple[object, ...], about: tuple[object, ...], model: str, sample: int
    ) -> float:
        """The error of a model's sample; ``about`` says of what beside the question."""
        skill = self.skills.get(what, Skill())
        harder = math.exp(self.difficulty * draw("difficulty", self.seed, *question))
        shared = (self.seed, *question)
        return harder * skill.error(shared=shared, about=(what, *shared, *about), model=model, sample=sample)

    def direct(self, event: int, model: str = "x", sample: int = 0) -> float:
        """What a model says of an event without drivers, as its n-th sample."""
        return shifted(self.truth(event), self.error("direct", ("event", event), (), model, sample))

    def from_drivers(self, event: int, model: str = "x", sample: int = 0) -> float:
        """What a model comes to by way of the drivers, which it weighs as they are."""
        said = [
            shifted(self.driver(event, n), self.error("driver", ("event", event), (n,), model, sample))
            for n in range(_DRIVERS)
        ]
        return _INTERCEPT + sum(w * p for w, p in zip(self.weights(event), said, strict=True))

    def forecasters(self, **more: Any) -> "Forecasters":
        """The policy of a server of such forecasters."""
        return Forecasters(world=self, **more)


@dataclass(slots=True, kw_only=True)
class Forecasters(Policy):
    """Answers every stage with the truth and an error; of requests without a question of its world as a `Policy`."""

    world: World = field(default_factory=World)
    #: How often a model was asked about something: the number of its next sample.
    asked_before: Counter[tuple[str, tuple[object, ...]]] = field(default_factory=Counter)
    #: Whose step was answered last, as the number of its sample.
    looping: int = 0

    def answer(self, asked: Asked) -> dict[str, Any]:
        if asked.stage != "sources":
            return Policy.answer(self, asked)
        numbers = re.findall(r"begin source (\d+)", asked.last)
        summary = "It may come about, and it may not: what is known points both ways. " * 5
        rows = [{"number": int(number), "summary": summary} for number in dict.fromkeys(numbers)]
        return _says(fenced({"sources": rows}))

    def believes(self, asked: Asked) -> float:
        driver, kind, place = self._about(asked)
        if kind != "event":
            return 0.6
        truth = self.world.truth(place) if driver is None else self.world.driver(place, driver)
        return shifted(truth, self._error(asked, "direct" if driver is None else "driver"))

    def _about(self, asked: Asked) -> tuple[int | None, str, int]:
        """Driver, kind and number of what a request is about: its proposition's line goes before what stands around it."""
        line = re.search(rf"^{re.escape(asked.node)}: (.+)$", asked.everything, re.MULTILINE)
        found = _NAMED.search(line[1] if line else "") or _NAMED.search(asked.everything)
        if found is None:
            return None, "", 0
        return None if found[1] is None else int(found[1]), found[2].lower(), int(found[3])

    def _error(self, asked: Asked, what: str, *detail: object) -> float:
        driver, kind, place = self._about(asked)
        about = detail if driver is None else (driver, *detail)
        model, key = str(asked.body.get("model")), (what, kind, place, *about)
        steps = [turn["tool_calls"][0]["id"] for turn in asked.messages if turn.get("tool_calls")]
        if steps:  # a loop's later step is the sample of its first, whose number its calls bear
            sample = int(steps[0].rpartition("_")[2])
        else:
            sample = self.asked_before[model, key]
            self.asked_before[model, key] += 1
        error = self.world.error(what, (kind, place), about, model, sample)
        if asked.stage == "act":  # what a loop has not yet looked up halves with every step
            self.looping = sample
            error += self.world.skills.get(what, Skill()).sd * draw("unread", key, sample) / 2 ** len(steps)
        return error * (self.world.news if "What was gathered about it" in asked.everything else 1)

    def _act(self, asked: Asked) -> dict[str, Any]:
        message = Policy._act(self, asked)
        (call,) = message["tool_calls"]
        return {**message, "tool_calls": [{**call, "id": f"call_{len(asked.messages)}_{self.looping}"}]}

    def _analyze(self, asked: Asked) -> dict[str, Any]:
        _, kind, place = self._about(asked)
        if kind != "event" or re.search(r"^ *- P1:", asked.last, re.MULTILINE):
            return _says("Every leaf can be settled.\n\n<END_OF_ANALYSIS>")
        children = {
            f"P{n + 1}": (f"Driver {n} of event {place} of world {self.world.seed} holds on {CLOSES}.", "Positive")
            for n in range(_DRIVERS)
        }  # fmt: skip
        return _says(f"{analysis_block({'P0': children})}\n\n<END_OF_ANALYSIS>")

    def _linear(self, asked: Asked) -> dict[str, Any]:
        _, kind, place = self._about(asked)
        children = self._children(asked)
        if kind != "event" or len(children) != _DRIVERS:
            return Policy._linear(self, asked)
        raw = [
            weight * math.exp(self._error(asked, "weights", n))
            for n, weight in enumerate(self.world.weights(place))
        ]
        beta = {child: round(_WEIGHT * each / sum(raw), 4) for (child, _, _), each in zip(children, raw, strict=True)}  # fmt: skip
        p = _INTERCEPT + sum(beta[child] * value for child, _, value in children)
        data = {"beta": {"beta_0": _INTERCEPT, **beta}, "p_true": round(p, 4), "key_factor": "The drivers."}
        return _says(report_with(data, asked.node))

    def _outcomes(self, asked: Asked) -> dict[str, Any]:
        _, kind, place = self._about(asked)
        if kind == "event":
            yes = self.believes(asked)
            return _says(fenced({"rationale": "One. Two. Three.", "probabilities": {"Yes": yes}}))
        if kind != "choice":
            return Policy._outcomes(self, asked)
        odds = {
            name: share * math.exp(self._error(asked, "choice", name))
            for name, share in self.world.shares(place).items()
        }
        stated = {name: each / sum(odds.values()) for name, each in odds.items()}
        return _says(fenced({"probabilities": stated, "key_factor": "The first stands."}))

    def _percentiles(self, asked: Asked) -> dict[str, Any]:
        _, kind, place = self._about(asked)
        if kind != "number":
            return Policy._percentiles(self, asked)
        truth = self.world.number(place)
        told = NormalDist(truth.mean + truth.stdev * self._error(asked, "number"), truth.stdev)
        stated = {str(level): round(max(told.inv_cdf(level / 100), 0.0), 3) for level in _LEVELS}
        return _says(fenced({"percentiles": stated, "key_factor": "It moves little."}))


def _says(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def excess_brier(p: float, truth: float) -> float:
    """What a forecast's Brier score is expected to be above that of the truth itself."""
    return (p - truth) ** 2


def excess_log(p: float, truth: float) -> float:
    """The same of its log score: the divergence of the truth from the forecast, in nats."""
    return truth * math.log(truth / p) + (1 - truth) * math.log((1 - truth) / (1 - p))
