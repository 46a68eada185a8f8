"""The file of a study: what it asks, of which arms, how often and for how much. Every mistake in it is one line."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from proxies.hashing import canonical_json, sha256_of
from proxies.input_files import MOST_YAML_BYTES, InputRefused, read_text
from proxies.yaml_text import parse_yaml
from workbench.errors import UsageError

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
#: What may differ when a study goes on: what it spends, how much at once, and what only the report reads.
CHANGEABLE = ("budget_usd", "concurrency", "note", "rebalance", "build_up")
_KEYS = {
    "name", "note", "exam", "arms", "trials", "seeds", "budget_usd", "concurrency", "reference", "size",
    "unresolved", "cutoffs", "resamples", "contexts", "rebalance", "build_up",
}  # fmt: skip
_EXAM_KEYS = {"events", "exam", "set", "questions", "simulator", "where"}
_REBALANCE_KEYS = {"column", "mixes", "draws"}
#: Subsets that are drawn for each mix where the study does not say.
REBALANCE_DRAWS = 50


class StudyError(UsageError):
    """A study that cannot be run as its file says; ``problems`` holds every mistake, a line each."""

    def __init__(self, problems: list[str]) -> None:
        self.problems = problems
        super().__init__("; ".join(problems))


class StudyCell(NamedTuple):
    """One forecast of a study: which arm, of which event, with which seed, which trial (from 1)."""

    arm: str
    event: str
    seed: int
    trial: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSpec:
    """One arm as the file names it: its own name, its kind, and the settings of that kind."""

    name: str
    kind: str
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StudySpec:
    """A study."""

    #: Also the name of its stream and of its folder.
    name: str
    #: Where the questions come from: ``events`` (with ``exam`` for a built one), ``set``, ``questions`` or ``simulator``; and ``where``,
    #: values of columns.
    exams: tuple[Mapping[str, Any], ...]
    arms: tuple[ArmSpec, ...]
    #: Independent forecasts of one question by an arm that draws.
    trials: int = 1
    #: The whole study is repeated with each.
    seeds: tuple[int, ...] = (0,)
    #: For all models together.
    budget_usd: float | None = None
    #: Runs in work at once.
    concurrency: int = 4
    #: The arm that the others are compared with; the first if not named.
    reference: str | None = None
    #: Questions, chosen by a hash of their ids; all if not named.
    size: int | None = None
    unresolved: str = "refuse"
    #: Whether several exams may have different cutoffs.
    cutoffs: str = "one"
    #: Of the bootstrap.
    resamples: int = 2000
    #: A file of contexts that all arms are given alike.
    contexts: str | None = None
    #: Mixes of categories on which the report scores the arms again (`mixes`).
    rebalance: Mapping[str, Any] | None = None
    #: Arms in the order in which a system was built: the report compares each with the one before.
    build_up: tuple[str, ...] = ()
    note: str = ""
    #: Where the file lies: paths in it are relative to that.
    folder: Path = Path()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object, as it stands in the log; the folder of the file is left out."""
        document = asdict(self)
        del document["folder"]
        return document

    @property
    def digest(self) -> str:
        """Hash of all that shapes the results."""
        document = {name: value for name, value in self.to_json().items() if name not in CHANGEABLE}
        return sha256_of(canonical_json(document))

    def rank(self, question: str) -> bytes:
        """Place of a question when ``size`` chooses: the same on every machine."""
        return hashlib.sha256(f"{self.name}\x1f{question}".encode()).digest()


def read_study(path: Path) -> StudySpec:
    """Read a study's YAML file.

    Raises `StudyError`: It cannot be read, or its form is wrong: every mistake of form at once.
    """
    try:
        document = parse_yaml(read_text(path, most=MOST_YAML_BYTES), str(path))
    except InputRefused as error:
        raise StudyError([str(error)]) from None
    if not isinstance(document, dict):
        raise StudyError([f"{path}: a study is a mapping with name, exam and arms"])
    return study_of(document, path.resolve().parent)


def study_of(document: Mapping[str, Any], folder: Path = Path()) -> StudySpec:
    """The study in a mapping; raises `StudyError` with every mistake of form."""
    problems = [
        f"unknown key {key!r}: a study has {', '.join(sorted(_KEYS))}" for key in document if key not in _KEYS
    ]
    name = document.get("name")
    if (
        not isinstance(name, str)
        or not name
        or name[0] in ".-"
        or any(letter not in _LETTERS for letter in name)
    ):
        problems.append(f"name: letters, digits, dots, dashes and underscores, not {name!r:.60}")
    exams = document.get("exam")
    exams = exams if isinstance(exams, list) else [exams]
    if exams == [None]:
        problems.append("exam is missing: events, set, questions or simulator")
    for exam in exams:
        if exam is not None:
            problems += _exam_problems(exam)
    arms = document.get("arms")
    specs: list[ArmSpec] = []
    if not isinstance(arms, list) or not arms:
        problems.append("arms: a list of at least one arm is needed")
    else:
        for place, arm in enumerate(arms, 1):
            if isinstance(arm, str):
                arm = {"arm": arm}
            if not isinstance(arm, dict) or not isinstance(arm.get("arm"), str):
                problems.append(f"arm {place}: a name of a kind, or a mapping with 'arm', is needed")
                continue
            settings = {key: value for key, value in arm.items() if key not in ("arm", "name")}
            specs.append(ArmSpec(name=str(arm.get("name", arm["arm"])), kind=arm["arm"], settings=settings))
    names = [spec.name for spec in specs]
    problems += [
        f"arm {each!r} is there twice: give one of them a name of its own"
        for each, count in sorted(Counter(names).items())
        if count > 1
    ]
    numbers: list[tuple[str, Any, Any, float]] = [
        ("trials", document.get("trials", 1), int, 1),
        ("concurrency", document.get("concurrency", 4), int, 1),
        ("resamples", document.get("resamples", 2000), int, 100),
        ("size", document.get("size", 1), int, 1),
        ("budget_usd", document.get("budget_usd", 0.0), (int, float), 0),
    ]
    for key, value, kind, least in numbers:
        if value is not None and (isinstance(value, bool) or not isinstance(value, kind) or value < least):
            problems.append(f"{key}: a number of at least {least:g} is needed, not {value!r:.40}")
    seeds = document.get("seeds", [0])
    seeds = seeds if isinstance(seeds, list) else [seeds]
    if not seeds or not all(isinstance(seed, int) and not isinstance(seed, bool) for seed in seeds):
        problems.append(f"seeds: whole numbers are needed, not {seeds!r:.60}")
    elif len(set(seeds)) != len(seeds):
        problems.append("seeds: one stands twice")
    reference = document.get("reference")
    if reference is not None and reference not in names:
        problems.append(f"reference {reference!r:.60} is no arm: {', '.join(names)}")
    for key, allowed in (("unresolved", ("refuse", "leave-out")), ("cutoffs", ("one", "per-question"))):
        if document.get(key, allowed[0]) not in allowed:
            problems.append(f"{key}: {' or '.join(allowed)}, not {document[key]!r:.40}")
    build_up = document.get("build_up") or []
    if not isinstance(build_up, list) or len(build_up) == 1 or any(each not in names for each in build_up):
        problems.append(f"build_up: a list of two or more arms, of {', '.join(names)}")
    if document.get("rebalance") is not None:
        problems += mix_problems(document["rebalance"])
    if problems:
        raise StudyError(problems)
    plain = {
        key: document[key]
        for key in (
            "trials",
            "budget_usd",
            "concurrency",
            "reference",
            "size",
            "unresolved",
            "cutoffs",
            "resamples",
            "contexts",
            "rebalance",
            "note",
        )
        if document.get(key) is not None
    }
    return StudySpec(
        name=str(name),
        exams=tuple(exams),
        arms=tuple(specs),
        seeds=tuple(seeds),
        build_up=tuple(build_up),
        folder=folder,
        **plain,
    )


def _exam_problems(exam: Any) -> list[str]:
    if not isinstance(exam, dict):
        return [f"exam: a mapping with events, set, questions or simulator is needed, not {exam!r:.60}"]
    problems = [
        f"exam: unknown key {key!r}: {', '.join(sorted(_EXAM_KEYS))}" for key in exam if key not in _EXAM_KEYS
    ]
    sources = [key for key in ("events", "set", "questions", "simulator") if key in exam]
    if len(sources) != 1:
        problems.append(
            f"exam: exactly one of events, set, questions, simulator is needed, not {len(sources)}"
        )
    if "where" in exam and not isinstance(exam["where"], dict):
        problems.append("exam: where is a mapping of columns to values")
    return problems


def mix_problems(settings: Any) -> list[str]:
    """Every mistake of form in a study's ``rebalance``, a line each."""
    if not isinstance(settings, dict) or set(settings) - _REBALANCE_KEYS or not settings.get("mixes"):
        return [
            "rebalance: a mapping with mixes, and column and draws where they are not category and 50, is needed"
        ]
    problems = []
    draws = settings.get("draws", REBALANCE_DRAWS)
    if isinstance(draws, bool) or not isinstance(draws, int) or not 1 <= draws <= 10_000:
        problems.append(f"rebalance: draws is a whole number from 1 to 10,000, not {draws!r:.40}")
    mixes = settings["mixes"]
    for place, mix in enumerate(mixes if isinstance(mixes, list) else [mixes], 1):
        shares = list(mix.values()) if isinstance(mix, dict) else []
        numbers = [each for each in shares if isinstance(each, int | float) and not isinstance(each, bool)]
        if not shares or len(numbers) < len(shares) or min(numbers) < 0 or abs(sum(numbers) - 1) > 1e-9:
            problems.append(f"rebalance: mix {place} is a mapping of categories to shares that sum to 1")
    return problems
