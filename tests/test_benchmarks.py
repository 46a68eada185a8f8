"""Every benchmark still runs: ``--smoke``, one round of the least size. What it prints is not looked at."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.browser import find_chromium

pytestmark = pytest.mark.long

ROOT = Path(__file__).resolve().parents[1]
BENCHMARKS = sorted(p.stem for p in (ROOT / "benchmarks").glob("*.py") if "__main__" in p.read_text())
# `paired` is what `kernels --against` starts in each checkout
BENCHMARKS.remove("paired")

#: One process for all, since most of what a smoke run takes is the import of the same libraries.
RUN_ALL = """
import asyncio, importlib, inspect, sys, time, traceback, warnings
warnings.simplefilter("error")
failed = []
for name in sys.argv[1:]:
    sys.argv = [name, "--smoke"]
    print("==", name, flush=True)
    begun = time.process_time()
    try:
        result = importlib.import_module(f"benchmarks.{name}").main()
        if inspect.iscoroutine(result):
            asyncio.run(result)
    except BaseException:
        traceback.print_exc()
        failed.append(name)
    print("==", name, "took", round(time.process_time() - begun, 1), "s of this process", flush=True)
print("failed:", *failed)
"""


def smoke(names: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, *names], cwd=ROOT, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "failed:", (
        done.stdout[-3000:] + done.stderr[-6000:]
    )


#: Long even so: a browser, kernels of Jupyter's own to compare with, fits of every question left out, plots, a
#: cluster with a package that must be installed before the catalogue is first read.
LONG = {"desk", "kernels", "large_home", "pooling_study", "reasoning", "workers"}


@pytest.mark.timeout(900)  # all of them in one process
def test_short_benchmarks_still_run() -> None:
    smoke([name for name in BENCHMARKS if name not in LONG])


@pytest.mark.soak
@pytest.mark.parametrize("name", sorted(LONG))
def test_long_benchmarks_still_run(name: str) -> None:
    if name == "desk" and find_chromium() is None:
        pytest.skip("no Chromium")
    smoke([name])


def test_a_benchmark_that_fails_is_named(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", RUN_ALL, "no_such_benchmark"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "failed: no_such_benchmark"
