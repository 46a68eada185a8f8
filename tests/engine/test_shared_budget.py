"""Two processes spend one budget, are killed while they do, and look at clocks that jump: the provider's own bill stays below it."""

import random
import time
from collections.abc import Iterator
from contextlib import closing
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import sittings
from tests.fakes.asking_run import Provider, open_run
from tests.fakes.two_processes import jump_clock
from workbench.audit.home_check import check_home
from workbench.engine.access import model_gateway
from workbench.engine.access.budget import Spending
from workbench.engine.ownership import RunInWork
from workbench.errors import BudgetStop
from workbench.models.base import ModelReply, ModelRequest, Usage
from workbench.store import Store

pytestmark = pytest.mark.long

LEAVES, STEPS = 6, 3
PRICE = {"openai/x": (10.0, 30.0)}  # US dollars per million tokens
BUDGET = 0.12
USAGE = Usage(input_tokens=20, output_tokens=300)
CALL = (USAGE.input_tokens * 10 + USAGE.output_tokens * 30) / 1e6


class Till(Provider):
    """Bills a call in a file before it answers: who is killed then has to pay for it all the same."""

    def __init__(self, bill: Path) -> None:
        super().__init__()
        self.bill = bill

    async def complete(self, request: ModelRequest) -> ModelReply:
        with open(self.bill, "a") as bill:
            bill.write("one\n")
        time.sleep(random.uniform(0, 0.02))
        return self.answer(request, usage=USAGE)


def _spend(home: Path, run_id: str, bill: Path, seed: int, guarded: bool, said: Any) -> None:
    jump_clock(random.Random(seed))
    sittings.quiet()
    if not guarded:
        model_gateway.spending = lambda *_: Spending(usd=0, tokens=0, calls=0, unanswered=0, unanswered_usd=0)
    try:
        sittings.sitting(home, run_id, leaves=LEAVES, provider=Till(bill), steps=STEPS)
    except RunInWork:
        said.put("in work")
    except BudgetStop:
        said.put("spent")
    else:
        said.put("done")


def calls_billed(bill: Path) -> int:
    return len(bill.read_text().splitlines()) if bill.exists() else 0


def rounds(home: Path, run_id: str, bill: Path, guarded: bool) -> Iterator[str]:
    """Begin two sittings side by side, kill the first after a call or two, and say how the second ended; again and again."""
    forks, draw = sittings.context(), random.Random(5)
    for number in range(8):
        said: Any = forks.SimpleQueue()
        both: list[BaseProcess] = [
            forks.Process(target=_spend, args=(home, run_id, bill, number * 2 + one, guarded, said))
            for one in range(2)
        ]
        for process in both:
            process.start()
        target = calls_billed(bill) + draw.randrange(1, 3)
        while calls_billed(bill) < target and both[0].is_alive():
            time.sleep(0.002)
        both[0].kill()
        for process in both:
            process.join(120)
        while not said.empty():
            yield (end := said.get())
            if end == "spent":
                return
        if calls_billed(bill) * CALL > BUDGET:
            return


def spent_by_two(folder: Path, *, guarded: bool) -> tuple[float, list[str]]:
    with closing(Store(folder / "home")) as store:
        run_id = open_run(store, budget_usd=BUDGET, prices=PRICE, concurrency=2)
    ends = list(rounds(folder / "home", run_id, folder / "bill", guarded))
    with closing(Store(folder / "home")) as store:
        assert check_home(store) == []
    return calls_billed(folder / "bill") * CALL, ends


def test_two_processes_that_are_killed_do_not_spend_more_than_the_budget(tmp_path: Path) -> None:
    spent, ends = spent_by_two(tmp_path, guarded=True)
    assert "spent" in ends and 0 < spent <= BUDGET, (spent, ends)


def test_a_sitting_that_does_not_look_at_what_was_spent_is_caught(tmp_path: Path) -> None:
    """On a busy machine the kills of one try may leave too little time to spend too much."""
    tries = (spent_by_two(tmp_path / str(number), guarded=False) for number in range(4))
    assert any(spent > BUDGET for spent, _ in tries)
