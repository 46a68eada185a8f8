"""How a choice is made; apart from the sums, which load numerics."""

from typing import Annotated

from pydantic import Field

from workbench.requests import Request, Says


class ChoiceRules(Request):
    """How a choice is made."""

    payoffs: Annotated[
        dict[str, Annotated[float, Field(ge=0, allow_inf_nan=False)]],
        Says(
            word="payoff",
            text="What a dollar on an option comes back as if it comes true; else 1 / ask.",
            form="OPTION=VALUE with a value of at least 0",
        ),
    ] = Field(default_factory=dict)
    risk_aversion: float = 1.0
    """CRRA exponent; 1 is Kelly."""
    fee: float = 0.0
    """Dollars a share on top of the ask."""
    cap: float = 1.0
    """Most that is staked in all, as a share of wealth."""
    horizon: str = ""
    """Which resolution day of a question with several."""
