"""The file of a study: what it asks, of which arms, how often and for how much. Every mistake in it is one line."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, Self

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PrivateAttr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import PydanticCustomError

from proxies.hashing import canonical_json, sha256_of
from proxies.input_files import MOST_YAML_BYTES, InputRefused, read_text
from proxies.yaml_text import parse_yaml
from workbench.errors import UsageError
from workbench.formatting import single_line

#: What may differ when a study goes on: what it spends, how much at once, and what only the report reads.
CHANGEABLE = ("budget_usd", "concurrency", "note", "rebalance", "build_up")
_SOURCES = ("events", "set", "questions", "simulator")


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


def _wrong(text: str) -> PydanticCustomError:
    return PydanticCustomError("study", "{text}", {"text": text})


def _as_list(value: Any) -> Any:
    return value if isinstance(value, list | tuple) else [value]


class _Form(BaseModel):
    """A part of the file; a field's description says what belongs there."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ArmSpec(_Form):
    """One arm as the file names it: its own name, its kind, and the settings of that kind."""

    name: str
    kind: str
    settings: Mapping[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _from_file(cls, value: Any) -> Any:
        """Read ``market`` and ``{arm: market, ...}``."""
        if isinstance(value, str):
            value = {"arm": value}
        if isinstance(value, dict) and isinstance(kind := value.get("arm"), str):
            settings = {key: each for key, each in value.items() if key not in ("arm", "name")}
            return {"name": str(value.get("name", kind)), "kind": kind, "settings": settings}
        if isinstance(value, dict) and "kind" in value:
            return value
        raise _wrong("a name of a kind, or a mapping with 'arm', is needed")


class Rebalance(_Form):
    """Mixes of categories on which the report scores the arms again."""

    mixes: Annotated[
        tuple[Mapping[str, float], ...],
        BeforeValidator(_as_list),
        Field(strict=False, description="a mapping of categories to shares that sum to 1, or a list of them"),
    ]
    column: str = "category"
    draws: Annotated[int, Field(ge=1, le=10_000, description="a whole number from 1 to 10,000")] = 50
    """Subsets that are drawn for each mix."""

    @field_validator("mixes", mode="after")
    @classmethod
    def _sum_to_one(cls, mixes: tuple[Mapping[str, float], ...]) -> tuple[Mapping[str, float], ...]:
        for place, mix in enumerate(mixes, 1):
            if not mix or min(mix.values()) < 0 or abs(sum(mix.values()) - 1) > 1e-9:
                raise _wrong(f"mix {place}: shares of categories sum to 1")
        return mixes


def _exam_source(exam: Any) -> Any:
    if not isinstance(exam, dict):
        raise _wrong(f"a mapping with {', '.join(_SOURCES)} is needed, not {exam!r:.60}")
    known = (*_SOURCES, "exam", "where")
    if unknown := [key for key in exam if key not in known]:
        raise _wrong(f"unknown key {unknown[0]!r}: {', '.join(known)}")
    if (count := sum(key in exam for key in _SOURCES)) != 1:
        raise _wrong(f"exactly one of {', '.join(_SOURCES)} is needed, not {count}")
    if not isinstance(exam.get("where", {}), dict):
        raise _wrong("where is a mapping of columns to values")
    return exam


_Count = Annotated[int, Field(ge=1, description="a number of at least 1 is needed")]


class StudySpec(_Form):
    """A study."""

    name: Annotated[
        str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$", description="letters, digits, dots, dashes and underscores")
    ]  # fmt: skip
    """Also the name of its stream and of its folder."""
    exam: Annotated[
        tuple[Annotated[Mapping[str, Any], BeforeValidator(_exam_source)], ...],
        BeforeValidator(_as_list),
        Field(strict=False, min_length=1, description=f"one of {', '.join(_SOURCES)} is needed"),
    ]
    """Where the questions come from: ``events`` (with ``exam`` for a built one), ``set``, ``questions`` or ``simulator``; and ``where``,
    values of columns."""
    arms: Annotated[
        tuple[ArmSpec, ...],
        Field(strict=False, min_length=1, description="a list of at least one arm is needed"),
    ]
    trials: _Count = 1
    """Independent forecasts of one question by an arm that draws."""
    seeds: Annotated[
        tuple[int, ...],
        BeforeValidator(_as_list),
        Field(strict=False, min_length=1, description="whole numbers are needed"),
    ] = (0,)
    """The whole study is repeated with each."""
    budget_usd: Annotated[float | None, Field(ge=0, description="a number of at least 0 is needed")] = None
    """For all models together."""
    concurrency: _Count = 4
    """Runs in work at once."""
    reference: str | None = None
    """The arm that the others are compared with; the first if not named."""
    size: _Count | None = Field(None, description="a number of at least 1 is needed")
    """Questions, chosen by a hash of their ids; all if not named."""
    unresolved: Annotated[Literal["refuse", "leave-out"], Field(description="refuse or leave-out")] = "refuse"
    cutoffs: Annotated[Literal["one", "per-question"], Field(description="one or per-question")] = "one"
    """Whether several exams may have different cutoffs."""
    resamples: Annotated[int, Field(ge=100, description="a number of at least 100 is needed")] = 2000
    """Of the bootstrap."""
    contexts: str | None = None
    """A file of contexts that all arms are given alike."""
    rebalance: Annotated[
        Rebalance | None, Field(description="a mapping with mixes, and column and draws where they are not category and 50, is needed")
    ] = None  # fmt: skip
    build_up: Annotated[tuple[str, ...], Field(strict=False, description="a list of two or more arms")] = ()
    """Arms in the order in which a system was built: the report compares each with the one before."""
    note: str = ""
    _folder: Path = PrivateAttr(default=Path())

    @model_validator(mode="before")
    @classmethod
    def _null_is_unsaid(cls, document: Any) -> Any:
        if not isinstance(document, Mapping):
            return document
        return {key: value for key, value in document.items() if value is not None}

    @field_validator("seeds")
    @classmethod
    def _each_once(cls, seeds: tuple[int, ...]) -> tuple[int, ...]:
        if len(set(seeds)) < len(seeds):
            raise _wrong("one stands twice")
        return seeds

    @field_validator("arms")
    @classmethod
    def _names_differ(cls, arms: tuple[ArmSpec, ...]) -> tuple[ArmSpec, ...]:
        twice = [name for name, count in Counter(arm.name for arm in arms).items() if count > 1]
        if twice:
            raise _wrong(f"arm {twice[0]!r} is there twice: give one of them a name of its own")
        return arms

    @field_validator("reference", "build_up")
    @classmethod
    def _names_arms(cls, value: Any, info: ValidationInfo) -> Any:
        names = [arm.name for arm in info.data.get("arms", ())]
        if info.field_name == "build_up" and (len(value) == 1 or not set(value) <= set(names)):
            raise _wrong(f"a list of two or more arms, of {', '.join(names)}")
        if info.field_name == "reference" and value is not None and value not in names:
            raise _wrong(f"{value!r:.60} is no arm: {', '.join(names)}")
        return value

    @property
    def folder(self) -> Path:
        """Where the file lies: paths in it are relative to that."""
        return self._folder

    def to_json(self) -> dict[str, Any]:
        """Plain JSON object, as it stands in the log; the folder of the file is left out."""
        return self.model_dump(mode="json")

    @property
    def digest(self) -> str:
        """Hash of all that shapes the results."""
        document = {name: value for name, value in self.to_json().items() if name not in CHANGEABLE}
        return sha256_of(canonical_json(document))

    def with_changes(self, **changes: Any) -> Self:
        """Return it with other values, which are not checked again."""
        return self.model_copy(update=changes)

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
    try:
        spec = StudySpec.model_validate(document)
    except ValidationError as error:
        raise StudyError(
            list(dict.fromkeys(_line(fault) for fault in error.errors(include_url=False)))
        ) from None
    spec._folder = folder
    return spec


def _line(fault: Any) -> str:
    """Say one mistake in the file's own words: where it is, what belongs there, what stands there."""
    key, *inner = (str(part) for part in fault["loc"])
    where, form, name = key, StudySpec, key
    if key == "arms" and inner:
        where = f"arm {int(inner[0]) + 1}"
    if key == "rebalance" and inner:
        form, name = Rebalance, inner[0]  # type: ignore[assignment]
        where = f"rebalance: {name}"
    known = form.model_fields.get(name)
    match fault["type"]:
        case "study":
            return single_line(f"{where}: {fault['msg']}")
        case "extra_forbidden":
            keys = sorted(form.model_fields)
            of = "a study" if form is StudySpec else "rebalance"
            return f"unknown key {name!r:.60}: {of} has {', '.join(keys)}"
        case "missing":
            return f"{where} is missing: {(known and known.description) or 'it is needed'}"
        case _:
            belongs = (known and known.description) or fault["msg"]
            return single_line(f"{where}: {belongs}, not {fault['input']!r:.60}")
