"""The fan of a claim's series as a run keeps it: read strictly, since it may be of a stranger's package."""

from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from workbench.errors import UsageError

#: Keys of the quantiles of a day to come.
SHARES = ("0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95")


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class _Known(_Part):
    day: date
    value: float


class _Ahead(_Part):
    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, float]

    day: date

    @model_validator(mode="after")
    def _has_all_quantiles(self) -> "_Ahead":
        if set(self.__pydantic_extra__) != {*SHARES}:
            raise ValueError(f"a day has the quantiles {', '.join(SHARES)}")
        return self


class _SeriesFan(_Part):
    series: str
    unit: str
    on: date
    last: _Known
    past: Annotated[list[_Known], Field(min_length=1)]
    fan: Annotated[list[_Ahead], Field(min_length=1)]
    levels: list[float]
    outcome: None


def read_fan(body: bytes) -> dict[str, Any]:
    """Return a stored fan as it is drawn; raises ``UsageError`` for anything else."""
    try:
        return _SeriesFan.model_validate_json(body).model_dump(mode="json")
    except ValidationError as problem:
        raise UsageError(
            f"the forecast of the run's series is damaged: {problem.errors()[0]['msg']}"
        ) from None
