"""What a run may spend: US dollars, tokens, calls and time, for the whole run and for each leaf.

The worst case of a call is reserved before it is sent and replaced by what it did cost when its reply is in, so calls side by
side cannot pass a limit together. Where the worst case does not fit, the call waits for those under way; where nothing is
under way, its reply may be shorter; where that would be too short to be of use, the run stops.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import floor

from workbench.errors import BudgetStop, Option, sentence
from workbench.models.costs import Price

#: Fewest tokens of a reply that is of use, by stage; a reply cut below that would be paid for and thrown away.
FLOORS: Mapping[str, int] = {"analyze": 800, "step": 500, "debug": 400, "conclude": 400}
OTHER_FLOOR = 300


class LeafBudgetSpent(BudgetStop):
    """The limit of one leaf is reached; the others go on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetLimits:
    """Most that may be spent; None is no limit."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    @property
    def any(self) -> bool:
        """Whether there is a limit at all."""
        return (self.usd, self.tokens, self.calls) != (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What a run or a leaf has spent. ``unanswered`` calls are those that were sent and never answered, at their worst case."""

    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    unanswered: int = 0
    unanswered_usd: float = 0.0


@dataclass(slots=True)
class Account:
    """What was spent and what is reserved against one set of limits; ``name`` says whose, for messages."""

    name: str
    limits: BudgetLimits
    usd: float = 0.0
    tokens: int = 0
    calls: int = 0
    held: list["Hold"] = field(default_factory=list)

    def reply_tokens(self, price: Price | None, input_tokens: int, wanted: int) -> int:
        """Return how long a reply may be, up to what is wanted, so that no limit is passed; below 0 where nothing fits."""
        rooms = [float(wanted)]
        if self.limits.calls is not None and self.calls + len(self.held) >= self.limits.calls:
            return -1
        if self.limits.tokens is not None:
            held = sum(hold.input_tokens + hold.output_tokens for hold in self.held)
            rooms.append(self.limits.tokens - self.tokens - held - input_tokens)
        if self.limits.usd is not None and price is not None:
            left = (
                self.limits.usd - self.usd - sum(hold.usd for hold in self.held) - price.input * input_tokens
            )
            if price.output or left < 0:  # a model that is free fits any budget
                rooms.append(left / price.output if price.output else -1)
        return floor(min(rooms))

    def spent_line(self) -> str:
        """Return which limit is used up and what was spent, for the message that says why the run stops."""
        limits = self.limits
        if limits.calls is not None and self.calls >= limits.calls:
            line = f"the budget of {limits.calls} calls of {self.name} is used up: "
            return sentence(line, Option("budget_calls"))
        if limits.usd is not None:
            line = f"the budget of ${limits.usd:g} of {self.name} is used up (${self.usd:.4f} spent"
            if limits.tokens is None or self.usd / limits.usd >= self.tokens / limits.tokens:
                return sentence(line, ", the next call may cost more than is left): ", Option("budget_usd"))
        return sentence(
            f"the budget of {limits.tokens or 0:,} tokens of {self.name} is used up ({self.tokens:,} spent,"
            " the next call may take more than are left): ",
            Option("budget_tokens"),
        )


@dataclass(slots=True)
class Hold:
    """The reservation of one call; ``output_tokens`` is how long its reply may be."""

    input_tokens: int
    output_tokens: int
    usd: float
    accounts: tuple[Account, ...] = ()


class Budget:
    """The accounts of one run and its leaves."""

    def __init__(
        self,
        limits: BudgetLimits | None = None,
        *,
        leaf_limits: BudgetLimits | None = None,
        spent: Callable[[str | None], Spending] = lambda node: Spending(),
    ) -> None:
        self._spent = spent
        self.run = self._account("the run", limits or BudgetLimits())
        self._leaf_limits = leaf_limits or BudgetLimits()
        self._leaves: dict[str, Account] = {}
        self._settled = asyncio.Event()

    def _account(self, name: str, limits: BudgetLimits, node: str | None = None) -> Account:
        spent = self._spent(node)
        return Account(name, limits, usd=spent.usd, tokens=spent.tokens, calls=spent.calls)

    @property
    def needs_price(self) -> bool:
        """Whether a limit in dollars has to be kept."""
        return self.run.limits.usd is not None or self._leaf_limits.usd is not None

    @property
    def bounded(self) -> bool:
        """Whether there is any limit."""
        return self.run.limits.any or self._leaf_limits.any

    def _accounts(self, node: str, trial: int) -> tuple[Account, ...]:
        # Trial 0 is the analyzer's and the synthesizers'.
        if not self._leaf_limits.any or trial == 0:
            return (self.run,)
        if node not in self._leaves:
            self._leaves[node] = self._account(f"driver {node}", self._leaf_limits, node)
        return (self.run, self._leaves[node])

    async def reserve(
        self, node: str, trial: int, stage: str, *, price: Price | None, input_tokens: int, output_tokens: int
    ) -> Hold:
        """Reserve a call's worst case, with a shorter reply where the whole does not fit, and return the reservation.

        Raises `BudgetStop`: Not even the shortest reply of use fits, and nothing is under way that may leave more. ``LeafBudgetSpent``
        where it is the leaf's own limit.
        """
        accounts = self._accounts(node, trial)
        least = min(FLOORS.get(stage, OTHER_FLOOR), output_tokens)
        while True:
            room, tightest = min(
                ((account.reply_tokens(price, input_tokens, output_tokens), account) for account in accounts),
                key=lambda pair: pair[0],
            )
            if room < output_tokens and tightest.held:
                # Worst cases are mostly far above what calls cost: most of it comes back in a moment.
                self._settled.clear()
                await self._settled.wait()
                continue
            if room < least:
                kind = BudgetStop if tightest is self.run else LeafBudgetSpent
                raise kind(tightest.spent_line())
            usd = 0.0 if price is None else price.input * input_tokens + price.output * room
            hold = Hold(input_tokens, room, usd, accounts)
            for account in accounts:
                account.held.append(hold)
            return hold

    def settle(self, hold: Hold, *, usd: float | None, tokens: int, calls: int = 1) -> None:
        """Replace a reservation by what the call did cost; ``calls=0`` and no cost for one that was not billed."""
        for account in hold.accounts:
            account.held.remove(hold)
            account.usd += usd or 0.0
            account.tokens += tokens
            account.calls += calls
        self._settled.set()

    def charge_worst(self, hold: Hold) -> None:
        """Charge a call whole that was sent and got no answer: the provider may have billed it."""
        self.settle(hold, usd=hold.usd, tokens=hold.input_tokens + hold.output_tokens)
