"""Work at rest belongs to the loop that began it; without one it is done at once."""

import asyncio
import threading

from workbench.steps import Steps
from workbench.widgets.at_rest import AtRest


def working(pieces: list[int]) -> Steps[None]:
    for number in range(200):
        pieces.append(number)
        yield


def test_without_a_loop_work_is_done_at_once_and_work_of_a_loop_is_left_to_it() -> None:
    pieces: list[int] = []
    resting = AtRest(threading.RLock(), lambda: True)
    resting.do("part", lambda: working(pieces))
    assert len(pieces) == 200

    async def begin() -> None:
        resting.do("part", lambda: working(pieces))
        beside = threading.Thread(target=lambda: resting.do("other", lambda: working(pieces)))
        beside.start()
        beside.join()
        assert len(pieces) == 200

    asyncio.run(begin())
    resting.go_on()  # the loop is no more
    assert len(pieces) == 600
