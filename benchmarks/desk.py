"""The page in a real browser: how soon it stands, an edit to its paint, a drag, bytes an edit, memory.

    python -m benchmarks.desk [--sizes 12,1111,11111] [--rounds 3] [--edits 20] [--lab]

Readiness is compared in the same run, in turn, with a bare Voila page that shows one anywidget; both have a kernel that was
made ahead, Voila's pre-heating on the bare side, and both servers have come to rest before a page is opened. "ready" is the
first row, "whole" the last pane of the page; "main thread" is the processor time of the page's own thread until it is ready,
which other work on the machine does not stretch. Edits are typed into a leaf's
field: one alone (the panels beside the tree are at rest before the next) and in quick succession (the next as soon as the
last is painted). Bytes are those of the comm messages' contents that one edit of a drag brings, and of all that came over the
websocket, with Jupyter's own envelopes and status messages.

``--lab`` measures cells of JupyterLab instead: the explorer alone, with views in cells below it, and the whole dashboard. Ready counts
there from the cell's start in a kernel that has imported nothing of ours.
"""

import argparse
import json
import math
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.arguments import parse
from tests.browser.conftest import start
from tests.fakes.browser import FLAGS, find_chromium, running_lab
from tests.fakes.large_tree import make_large_run

BARE = """import anywidget, traitlets
class Bare(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.innerHTML = '<p role=treeitem>here</p>'; } };"
Bare()"""
ROW = '[role="treeitem"]'
LAB_CELLS = {
    "explorer": ["analysis.explorer()"],
    "with views": ["analysis.explorer()", "analysis.scenario_view()", "analysis.driver_view()"],
    "dashboard": ["analysis.dashboard()"],
}
#: Types into the deepest field in sight and resolves with the milliseconds until the browser has painted the answer.
EDIT = """([text]) => new Promise((done) => {
  const row = [...document.querySelectorAll('[role=treeitem][data-kind=leaf]')].at(-1);
  const input = row.querySelector('input'), tree = document.querySelector('.wb-tree');
  const before = tree.dataset.rev, begun = performance.now();
  new MutationObserver((_changes, watch) => {
    if (tree.dataset.rev === before) return;
    watch.disconnect();
    requestAnimationFrame(() => { const channel = new MessageChannel();
      channel.port1.onmessage = () => done(performance.now() - begun); channel.port2.postMessage(0); });
  }).observe(tree, { attributes: true, attributeFilter: ['data-rev'] });
  input.value = text;
  input.dispatchEvent(new Event('change'));
})"""


class Wire:
    """What came over a page's websockets: all bytes, and those of the contents of comm messages."""

    def __init__(self, page: Any) -> None:
        self.frames = self.contents = 0
        page.on("websocket", lambda made: made.on("framereceived", self._count))

    def _count(self, frame: Any) -> None:
        data = frame if isinstance(frame, bytes) else frame.encode()
        self.frames += len(data)
        if b"comm_msg" not in data:
            return
        # v1.kernel.websocket.jupyter.org: the number of offsets, the offsets, then channel, header, parent, metadata, content
        try:
            count = int.from_bytes(data[:8], "little")
            offsets = [int.from_bytes(data[8 * (n + 1) : 8 * (n + 2)], "little") for n in range(count)]
            self.contents += offsets[5] - offsets[4]
        except IndexError:
            self.contents += len(data)


def children_of(pid: int) -> list[int]:
    """The kernels of a server."""
    listed = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False
    )
    return [int(line) for line in listed.stdout.split()]


def processor_ticks(pid: int) -> int:
    """Processor time of a process so far; 0 for one that has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def wait_for_rest(pid: int, quiet_seconds: float = 4.5) -> None:
    """Return when a server and its kernels have been idle for longer than it takes until the next kernel is made ahead."""
    before, since = None, time.monotonic()
    while time.monotonic() - since < quiet_seconds:
        kernels = children_of(pid)
        now = (kernels, sum(map(processor_ticks, (pid, *kernels))) // 5)
        if now != before:
            before, since = now, time.monotonic()
        time.sleep(0.25)


def megabytes(pid: int) -> float:
    """Memory of a process that no other shares with it."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return (
        sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty")))
        / 1000
    )


@contextmanager
def bare_voila(folder: Path) -> Iterator[tuple[str, int]]:
    """A Voila as it comes, pre-heated, on a notebook of one anywidget; gives its address and its process."""
    cell: dict[str, Any] = {
        "cell_type": "code",
        "id": "a",
        "metadata": {},
        "outputs": [],
        "execution_count": None,
        "source": BARE,
    }
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    notebook = {"cells": [cell], "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    (folder / "bare.ipynb").write_text(json.dumps(notebook))
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "voila", "bare.ipynb", "--no-browser", f"--port={port}"]
    command += ["--Voila.token=", "--Voila.log_level=ERROR", "--preheat_kernel=True", "--pool_size=1"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(f"{url}voila/static/voila.js", timeout=2):
                break
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            if process.poll() is not None:
                raise SystemExit("the bare Voila did not come up") from None
            time.sleep(0.2)
    yield url, process.pid
    process.terminate()
    process.wait(timeout=30)


@contextmanager
def fresh_page(browser: Any) -> Iterator[Any]:
    """A page of an own profile at 1280 by 800, left in a way that ends its kernel."""
    context = browser.new_context(viewport={"width": 1280, "height": 800})
    page = context.new_page()
    yield page
    page.goto("about:blank")
    context.close()


@dataclass(frozen=True, slots=True)
class Opening:
    """How a page came up: seconds until its first row, and of its main thread until then; until its last pane, or nan."""

    ready: float
    main_thread: float
    whole: float


def opening(page: Any, url: str, last: str = "") -> Opening:
    """Open an address and say how long its tree, or the bare widget, took, and the element that comes ``last``."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    begun = time.perf_counter()
    page.goto(url, wait_until="commit")
    page.wait_for_selector(ROW, timeout=120_000)
    ready = time.perf_counter() - begun
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    whole = math.nan
    if last:
        page.wait_for_selector(last, state="attached", timeout=120_000)  # it may stand in another tab
        whole = time.perf_counter() - begun
    return Opening(ready, metrics["TaskDuration"], whole)


def measure_edits(page: Any, wire: Wire, edits: int) -> dict[str, float]:
    """Type edits into a leaf of a page that stands; milliseconds, bytes and megabytes."""
    page.get_by_role("button", name="Expand all").click()
    page.wait_for_timeout(2000)  # the audit's marks are read once, after the page stands
    values = [f"{0.1 + 0.8 * number / (2 * edits):.4f}" for number in range(2 * edits)]
    page.evaluate(EDIT, [values[-1]])
    alone = []
    for value in values[:edits]:
        page.wait_for_timeout(700)
        alone.append(page.evaluate(EDIT, [value]))
    page.wait_for_timeout(1500)
    before = (wire.frames, wire.contents)
    row = [page.evaluate(EDIT, [value]) for value in values[edits:]]
    after = (wire.frames, wire.contents)
    session = page.context.new_cdp_session(page)
    session.send("HeapProfiler.collectGarbage")
    heap = session.send("Runtime.getHeapUsage")["usedSize"]
    return {
        "edit alone ms": statistics.median(alone),
        "in succession ms": statistics.median(row),
        "slowest ms": max(row),
        "content B": (after[1] - before[1]) / edits,
        "wire B": (after[0] - before[0]) / edits,
        "page MB": heap / 1e6,
        "elements": page.evaluate("document.querySelectorAll('*').length"),
    }


def median(openings: list[Opening], name: str) -> float:
    """The middle one of a figure."""
    return float(statistics.median(getattr(each, name) for each in openings))


def shown(size: int, ours: list[Opening], bare: list[Opening], figures: dict[str, float]) -> None:
    """Print one line of the table."""
    best = min(each.ready for each in ours) / min(each.ready for each in bare)
    parts = [
        f"{size:>6} ready {median(ours, 'ready'):5.2f} s",
        f"x bare {median(ours, 'ready') / median(bare, 'ready'):.2f} (best of each {best:.2f})",
        f"main thread x bare {median(ours, 'main_thread') / median(bare, 'main_thread'):.2f}",
        f"bare {median(bare, 'ready'):.2f} s, whole {median(ours, 'whole'):.2f} s",
    ]
    parts += [f"{name} {value:,.1f}" for name, value in figures.items()]
    print("  ".join(parts), flush=True)


def in_voila(browser: Any, home: Path, runs: dict[int, str], rounds: int, edits: int) -> None:
    """Measure ``workbench serve`` against the bare page, in turn."""
    served = start(home, next(iter(runs.values())))
    pid = served.process.pid
    try:
        with bare_voila(home) as (url, bare_pid):
            with fresh_page(browser) as page:  # compiled files, disk caches
                opening(page, url)
            wait_for_rest(pid)
            waiting = children_of(pid)
            print(f"a kernel made ahead takes {max(map(megabytes, waiting)):.0f} MB of its own", flush=True)
            for size, run_id in runs.items():
                ours: list[Opening] = []
                bare: list[Opening] = []
                for number in range(rounds):
                    wait_for_rest(bare_pid)
                    with fresh_page(browser) as page:
                        bare.append(opening(page, url))
                    wait_for_rest(pid)
                    with fresh_page(browser) as page:
                        wire = Wire(page)
                        ours.append(opening(page, f"{served.url}&run={run_id}", ".wb-spent"))
                        last = number == rounds - 1
                        figures = measure_edits(page, wire, edits) if last and edits else {}
                shown(size, ours, bare, figures)
    finally:
        served.stop()


def in_lab(browser: Any, home: Path, runs: dict[int, str], edits: int) -> None:
    """Measure cells of JupyterLab, each kind in a notebook and a kernel of its own."""
    with running_lab(home) as lab:
        for size, run_id in runs.items():
            for kind, cells in LAB_CELLS.items():
                name = f"{kind.replace(' ', '-')}-{size}.ipynb"
                first = f"import workbench as wb\nanalysis = wb.open_run({run_id!r})\n{cells[0]}"
                lab.put(name, [first, *cells[1:]], "python3")
                with fresh_page(browser) as page:
                    wire = Wire(page)
                    page.goto(lab.page(name))
                    page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=120_000)
                    page.get_by_text("| Idle").wait_for(timeout=120_000)
                    page.locator(".jp-Notebook .jp-Cell").first.click()
                    begun = time.perf_counter()
                    for _ in cells:
                        page.keyboard.press("Shift+Enter")
                    page.wait_for_selector(".wb-row", timeout=180_000)
                    ready = time.perf_counter() - begun
                    figures = measure_edits(page, wire, edits)
                rest = "  ".join(f"{what} {value:,.1f}" for what, value in figures.items())
                print(f"{size:>6} {kind:<10} ready {ready:5.2f} s  {rest}", flush=True)
                for session in lab.ask("/api/sessions"):
                    lab.ask(f"/api/sessions/{session['id']}", method="DELETE")


@contextmanager
def browser_with_runs(sizes: str) -> Iterator[tuple[Any, Path, dict[int, str]]]:
    """Give a browser, a data folder and the run of each of ``sizes`` rows in it."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        home = Path(name)
        runs = {
            size: make_large_run(home, size, f"20180630-120000-{size:04x}")
            for size in map(int, sizes.split(","))
        }
        browser = driver.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        yield browser, home, runs
        browser.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="12,1111,11111")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--lab", action="store_true")
    options = parse(parser, sizes="12", rounds=1, edits=2)
    with browser_with_runs(options.sizes) as (browser, home, runs):
        if options.lab:
            in_lab(browser, home, runs, options.edits)
        else:
            in_voila(browser, home, runs, options.rounds, options.edits)


if __name__ == "__main__":
    main()
