"""A dress rehearsal: what do a kernel's first cells import? The fork server imports it once, for all of them."""

import importlib
import json
import os
import socket
import sys
import tempfile
import traceback
from collections.abc import Callable
from typing import Any

CELLS = (
    "1 + 1",
    "import pandas as pd, numpy as np, matplotlib.pyplot as plt\npd.DataFrame({'a': [1.0, 2.0]}).describe()",
    "fig, ax = plt.subplots()\nax.plot(pd.date_range('2020-01-01', periods=3), [1, 2, 3])\n"
    "ax.set_title('t'); ax.axhline(2, label='x'); ax.legend(); plt.show()",
    "display(pd.DataFrame({'a': [1], 'd': pd.to_datetime(['2020-01-01'])}))",
    "pd.read_csv(__import__('io').StringIO('a,b\\n1,2')).groupby('a').b.mean()",
    "pd.Series([1.0, 2.0], index=pd.date_range('2020-01-01', periods=2)).resample('W').last().rolling(2).std()",
    "import scipy.stats, scipy.optimize, json, math, statistics, datetime, re, itertools\n"
    "scipy.stats.norm.cdf(0.1), np.random.default_rng(1).normal(), scipy.optimize.brentq(lambda x: x, -1, 1)",
    "1 / 0",
    "raise ApiRefused('no')",
)


def rehearse(build: Callable[..., Any]) -> list[str]:
    """Run typical cells in a forked kernel; import here what they imported there. Returns the names."""
    have = set(sys.modules)
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.close(reader)
            news = json.dumps(_play(build, have)).encode()
            while news:
                news = news[os.write(writer, news) :]
            code = 0
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(code)
    os.close(writer)
    with open(reader, "rb") as pipe:
        told = pipe.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if status != 0:
        raise RuntimeError(f"the rehearsal of a kernel ended with exit code {status}")
    return [name for name in json.loads(told) if _imported(name)]


def _imported(name: str) -> bool:
    try:
        importlib.import_module(name)
    except Exception as error:  # a module that cannot be imported alone costs time later, nothing else
        print(f"rehearsal: {name} not preloaded: {error!r}", file=sys.__stderr__)
        return False
    return True


def _play(build: Callable[..., Any], have: set[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["IPYTHONDIR"] = f"{folder}/ipython"
        descriptors = {}
        for port, channel in enumerate(("shell", "iopub", "stdin", "hb", "control"), 1):
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(f"{folder}/s-{port}")
            listener.listen()
            descriptors[channel] = listener.detach()
        ports = {f"{channel}_port": port for port, channel in enumerate(descriptors, 1)}
        connection = {"transport": "ipc", "ip": f"{folder}/s", "key": "", **ports}
        app = build(connection, descriptors, None)
        for cell in CELLS:
            app.shell.run_cell(cell)
            app.shell.events.trigger("post_execute")
        return sorted(
            name
            for name, module in sys.modules.items()
            if module is not None and name not in have and not name.startswith(("__main__", "__mp_main__"))
        )
