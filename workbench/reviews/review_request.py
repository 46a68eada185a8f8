"""What a review is asked; apart from its work, which loads what runs need."""

from typing import Annotated

from pydantic import BeforeValidator, Field

from workbench.requests import Request, Says


def _points(value: object) -> object:
    """Read points as they are typed; a number is a share already."""
    if not isinstance(value, str):
        return value
    return float(value.strip().lower().removesuffix("points").removesuffix("pp").removesuffix("%")) / 100


class ReviewRequest(Request):
    """What a review covers."""

    run: Annotated[
        str | None, Says(text="The claim of this run alone, watched or not; all with the tag watch without.")
    ] = None
    due: bool = False
    """Only claims whose next review has come."""
    changed: bool = False
    """Only say what changed behind them: no run is opened, no model asked."""
    budget_usd: Annotated[float | None, Field(ge=0)] = None
    """What all of it may cost; without it nothing that a model charges for is bought."""
    alert: Annotated[
        float,
        BeforeValidator(_points),
        Field(ge=0, le=1),
        Says(
            text="Points that a claim moves before you are told, such as 5; in Python a share, such as 0.05.",
            form="POINTS from 0 to 100, such as 5",
        ),
    ] = 0.05
    cutoff: Annotated[str, Says(text="As of when: now, or a day in a history that is replayed.")] = "now"
