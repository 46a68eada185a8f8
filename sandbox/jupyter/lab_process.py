"""Run the process of ``workbench lab`` so that it ends when it is told to.

JupyterLab's server stops its loop while requests may be under way. What waits in them for a thread is then never done, the
thread waits for work, and the interpreter for the thread: the process stays for good, without an answer to anybody.
"""

import asyncio
import sys
from collections.abc import Callable


def run_to_the_end(serve: Callable[[], object]) -> int:
    """Run a server until it stops, cancel its unfinished requests, and return the exit code."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    code = 0
    try:
        serve()
    except SystemExit as error:
        code = error.code if isinstance(error.code, int) else int(error.code is not None)
    if not loop.is_closed():
        loop.run_until_complete(_end_the_rest())
        loop.close()
    return code


async def _end_the_rest() -> None:
    """Cancel unfinished requests: their threads would keep the process alive."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


if __name__ == "__main__":
    from jupyterlab.labapp import main  # type: ignore[import-untyped]

    sys.exit(run_to_the_end(main))
