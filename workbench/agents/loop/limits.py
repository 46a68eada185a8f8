"""How far an agent loop may go: steps, seconds, tokens, dollars, errors in a row. Counted from what is on record alone.

Seconds are those of the model's replies and of cells, as recorded: a leaf that is resumed stops where it would have stopped.
The wall clock of a leaf is the engine's (``leaf_budget_seconds``).
"""

from dataclasses import dataclass

from workbench.agents.errors import BadSetting
from workbench.models.base import ModelReply


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopLimits:
    """The bounds of one loop; None is no bound.

    Parameters
    ----------
    steps : int
        Moves of the model, the submitting one included (BLF, Algorithm 1: T_max).
    seconds : float or None
        Of the model and of cells.
    tokens : int or None
        Input and output of all its replies.
    usd : float or None
        Counted where the price of a reply is known.
    errors : int
        Moves in a row of which no tool call gave anything.
    """

    steps: int = 10
    seconds: float | None = 600.0
    tokens: int | None = None
    usd: float | None = None
    errors: int = 3

    def __post_init__(self) -> None:
        if self.steps < 1 or self.errors < 1:
            raise BadSetting("steps and errors of a loop must be at least 1")
        for name in ("seconds", "tokens", "usd"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise BadSetting(f"{name} of a loop must be above 0, not {value:g}")


@dataclass(slots=True)
class Spent:
    """What a loop has used so far."""

    steps: int = 0
    calls: int = 0
    tool_calls: int = 0
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float = 0.0
    errors: int = 0
    characters: int = 0

    def count(self, reply: ModelReply) -> None:
        """Add one reply, also one that could not be used; where its tokens are not reported, four characters are one."""
        self.calls += 1
        self.seconds += reply.seconds
        self.input_tokens += reply.usage.input_tokens or 0
        written = reply.usage.output_tokens
        self.output_tokens += len(reply.text) // 4 if written is None else written
        self.usd += reply.cost_usd or 0.0
        self.characters += len(reply.text)

    def passed(self, limits: LoopLimits) -> str:
        """Return which limit is reached, in words; "" while there is room for another move."""
        if self.steps >= limits.steps:
            return f"its {limits.steps} steps are used up"
        if limits.seconds is not None and self.seconds >= limits.seconds:
            return f"its {limits.seconds:g} seconds are used up"
        if limits.tokens is not None and self.input_tokens + self.output_tokens >= limits.tokens:
            return f"its {limits.tokens} tokens are used up"
        if limits.usd is not None and self.usd >= limits.usd:
            return f"its {limits.usd:g} US dollars are used up"
        if self.errors >= limits.errors:
            return f"{self.errors} steps in a row brought nothing"
        return ""
