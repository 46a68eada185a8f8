"""Run typical cells on a throw-away kernel in the fork server itself, before any fork.

What they import is then there for every kernel, and so is what running code leaves behind in the interpreter: its caches
of types and of regular expressions, and bytecode specialised to what it met. Each would be made again in every kernel, in
pages of its own. The kernel of the rehearsal, with its threads and sockets, is taken apart afterwards.
"""

import asyncio
import os
import socket
import sys
import tempfile
from types import ModuleType
from typing import Any

CHANNELS = ("shell", "iopub", "stdin", "hb", "control")
CELLS = (
    "1 + 1",
    "import pandas, matplotlib.pyplot",
    "import pandas as pd, numpy as np, matplotlib.pyplot as plt\npd.DataFrame({'a': [1.0, 2.0]}).describe()",
    "fig, ax = plt.subplots()\nax.plot(pd.date_range('2020-01-01', periods=3), [1, 2, 3])\n"
    "ax.set_title('t'); ax.axhline(2, label='x'); ax.legend(); plt.show()",
    "display(pd.DataFrame({'a': [1], 'd': pd.to_datetime(['2020-01-01'])}))",
    "print(pd.read_csv(__import__('io').StringIO('a,b\\n1,2')).groupby('a').b.mean())",
    "pd.Series([1.0, 2.0], index=pd.date_range('2020-01-01', periods=2)).resample('W').last().rolling(2).std()",
    "import scipy.stats, scipy.optimize, json, math, statistics, datetime, re, itertools\n"
    "scipy.stats.norm.cdf(0.1), np.random.default_rng(1).normal(), scipy.optimize.brentq(lambda x: x, -1, 1)",
    "1 / 0",
    "raise ApiRefused('no')",
)


def rehearse(app: ModuleType) -> list[str]:
    """Run the cells; return the names of the modules that they imported."""
    have = set(sys.modules)
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_play(app, folder))
    tempfile.tempdir = None  # a kernel has another folder and finds it by itself
    return sorted(name for name, module in sys.modules.items() if module is not None and name not in have)


async def _play(app: ModuleType, folder: str) -> None:
    descriptors = {}
    for port, channel in enumerate(CHANNELS, 1):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"{folder}/s-{port}")
        listener.listen()
        descriptors[channel] = listener.detach()
    ports = {f"{channel}_port": port for port, channel in enumerate(CHANNELS, 1)}
    connection = {"transport": "ipc", "ip": f"{folder}/s", "key": "rehearsal", **ports}
    app.prepare()
    built = app.build(connection, descriptors, None)
    try:
        built.kernel.start()
        await _send(built, "kernel_info_request", {})
        for cell in CELLS:
            request = {"code": cell, "silent": False, "store_history": True, "stop_on_error": False}
            await _send(built, "execute_request", request)
    finally:
        app.dismantle(built)
        await _alone()


async def _alone() -> None:
    """Wait until the rehearsal's last thread has ended, which takes a moment after Python is done with it."""
    for _ in range(200):
        if len(os.listdir("/proc/self/task")) == 1:
            return
        await asyncio.sleep(0.01)
    raise RuntimeError("the rehearsal left a thread behind")


async def _send(built: Any, kind: str, content: dict[str, Any]) -> None:
    """Have the kernel answer a message, and drop the answer."""
    import zmq

    session = built.session
    frames = [b"nobody", *session.serialize(session.msg(kind, content))]
    await built.kernel.shell_main(None, [zmq.Frame(frame) for frame in frames])
    await asyncio.sleep(0)  # what the answer left for later
