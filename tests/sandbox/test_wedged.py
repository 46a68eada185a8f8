"""A kernel that answers nothing any more is started anew at the second silent time-out, without the cell that wedged it."""

import pytest

from sandbox import Sandbox
from sandbox.record.journal import read_journal
from sandbox.types import Limits
from tests.sandbox.conftest import Opener, verify_proof

LOCK = (
    "import threading\nlock = threading.Lock(); lock.acquire()\n"
    "print = lambda *words, **options: lock.acquire()"
)


@pytest.mark.parametrize("wedge", [LOCK], ids=["a lock that nobody opens"])
async def test_a_wedged_kernel_is_started_anew_without_the_cell_that_wedged_it(
    open_session: Opener, wedge: str
) -> None:
    session = await open_session(limits=Limits(cell_seconds=1.5, grace_seconds=0.5))
    await session.execute("x = 7")
    assert (await session.execute(wedge)).status == "ok"
    first = await session.execute("print('a', x)")
    second = await session.execute("print('b', x)")
    assert (first.status, first.wedged) == ("timeout", None)
    assert (second.status, second.wedged) == ("timeout", "cell-002")
    after = await session.execute("print('c', x)")
    assert after.status == "ok" and after.text().strip() == "c 7"
    await session.close()
    cells = read_journal(session.spec.journal)
    assert cells[3].result is not None and cells[3].result.wedged == "cell-002"
    assert "started anew without that cell" in cells[3].findings[0]


@pytest.mark.parametrize(
    ("source", "repeats"),
    [
        ("import random\nprint(random.random())", True),  # every kernel begins with the same seed
        ("import os\nprint(os.urandom(8).hex())", False),
    ],
)
async def test_a_cell_that_cannot_repeat_is_told_from_one_that_was_changed(
    open_session: Opener, box: Sandbox, source: str, repeats: bool
) -> None:
    session = await open_session()
    await session.execute(source)
    await session.close()
    spec = session.spec
    outcome = await verify_proof(
        box, journal=spec.journal, notebook=spec.notebook, rows=(), isolation=spec.isolation
    )
    assert outcome.verified and bool(outcome.unrepeatable) != repeats
