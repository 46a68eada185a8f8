"""What arms share. An arm has a name, a price, and ``draws``: whether trials and seeds differ.

Either it fills a whole table at once (``forecasts``: probabilities, ``nan`` where there is none, and why, by row),
or runs of the engine make its forecasts (``settings`` of a cell, equal for equal cells).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from workbench.errors import UsageError
from workbench.studies.study_file import ArmSpec, StudyCell

if TYPE_CHECKING:
    from workbench.studies.study_exam import StudyExam


class ArmError(UsageError):
    """An arm that cannot be made as its settings say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPrice:
    """What forecasts of an arm are expected to take; ``usd`` is None where the price is unknown."""

    calls: float = 0.0
    tokens_in: float = 0.0
    usd: float | None = 0.0

    def __add__(self, other: "ArmPrice") -> "ArmPrice":
        usd = None if None in (self.usd, other.usd) else (self.usd or 0.0) + (other.usd or 0.0)
        return ArmPrice(calls=self.calls + other.calls, tokens_in=self.tokens_in + other.tokens_in, usd=usd)

    def __mul__(self, times: float) -> "ArmPrice":
        usd = None if self.usd is None else self.usd * times
        return ArmPrice(calls=self.calls * times, tokens_in=self.tokens_in * times, usd=usd)

    def words(self, model: str) -> str:
        """Calls, tokens and dollars as a line of a plan says them."""
        usd = "whose price is unknown" if self.usd is None else f"about ${self.usd:.2f}"
        return f"about {round(self.calls)} calls to {model}, {round(self.tokens_in):,} tokens sent, {usd}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmContext:
    """What a kind of arm may look at when it is made: the folder of the study's file, and how often it is asked of each event."""

    folder: Path
    samples: int = 1


def wrong(text: str) -> PydanticCustomError:
    """Return the mistake of a setting, in words that stand behind the arm's name."""
    return PydanticCustomError("arm", "{text}", {"text": text})


def one_of(setting: str, known: Sequence[str], value: str) -> str:
    """Return a setting that is one of those known."""
    if value not in known:
        raise wrong(f"{setting} is one of {', '.join(known)}, not {value!r:.40}")
    return value


class Free(BaseModel):
    """An arm without a model; its fields are the settings of its kind in a study's file, and a description says what is lacking."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, arbitrary_types_allowed=True)
    #: They give the same each time, but those that say otherwise.
    draws: ClassVar[bool] = False
    #: A field and the settings that it is made of.
    gathers: ClassVar[Mapping[str, tuple[str, ...]]] = {}

    name: str

    def price(self, exam: "StudyExam | None" = None, cell: StudyCell | None = None) -> ArmPrice:
        """Nothing."""
        return ArmPrice()

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, values: dict[str, Any]) -> dict[str, Any]:
        settings = dict(values)
        for field, words in cls.gathers.items():
            settings[field] = {word: settings.pop(word) for word in words if word in settings}
        return settings

    @classmethod
    def from_spec(cls, spec: ArmSpec, context: ArmContext, takes: Sequence[str] | None, **fixed: Any) -> Self:
        """Read the settings of an arm; raises `ArmError` for one that the kind does not have or that is of another sort."""
        if takes is None:
            named = {name: field.alias or name for name, field in cls.model_fields.items() if name != "name"}
            takes = [word for name, alias in named.items() for word in cls.gathers.get(name, (alias,))]
        if unknown := [key for key in spec.settings if key not in takes]:
            raise ArmError(
                f"arm {spec.name!r} has no setting {unknown[0]!r}; it has: {', '.join(takes) or 'none'}"
            )
        # Written without a value: as if it were left out.
        settings = {key: value for key, value in spec.settings.items() if value is not None}
        try:
            return cls.model_validate({**fixed, **settings, "name": spec.name}, context=context)
        except ValidationError as error:
            raise ArmError(f"arm {spec.name!r}: {_fault(cls, error)}") from None


def _fault(form: type[BaseModel], error: ValidationError) -> str:
    fault = error.errors(include_url=False)[0]
    name = str(fault["loc"][-1]) if fault["loc"] else ""
    field = form.model_fields.get(name)
    if fault["type"] == "arm":
        return fault["msg"]
    if field is not None and field.description:
        return field.description
    if fault["type"] == "missing":
        return f"{name} is missing"
    sort = {"string": "str", "float": "float", "int": "int"}.get(fault["type"].partition("_")[0])
    return f"{name} is {sort}, not {fault['input']!r:.40}" if sort else f"{name}: {fault['msg']}"
