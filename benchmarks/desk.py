"""The page in a real browser: how soon it stands, an edit to its paint, a drag, bytes an edit, memory.

    python -m benchmarks.desk [--sizes 12,1111,11111] [--rounds 3] [--edits 20] [--no-lab]

Readiness is compared in the same run, in turn, with a bare Voila page that shows one anywidget. Edits are typed into a leaf's
field: one alone (the panels beside the tree are at rest before the next) and in quick succession (the next as soon as the
last is painted). Bytes are those of the comm messages' contents that one edit of a drag brings, and of all that came over the
websocket, with Jupyter's own envelopes and status messages.
"""

import argparse
import json
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
from pathlib import Path
from typing import Any

from tests.browser.conftest import start
from tests.fakes.browser import FLAGS, find_chromium, running_lab
from tests.fakes.large_tree import make_large_run

BARE = """import anywidget, traitlets
class Bare(anywidget.AnyWidget):
    _esm = "export default { render({ el }) { el.innerHTML = '<p role=treeitem>here</p>'; } };"
Bare()"""
ROW = '[role="treeitem"]'
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


@contextmanager
def bare_voila(folder: Path) -> Iterator[str]:
    """A Voila as it comes, on a notebook of one anywidget; gives its address."""
    cell = {
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
    command += ["--Voila.token=", "--Voila.log_level=ERROR"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while True:
        try:
            with opener.open(f"{url}voila/static/voila.js", timeout=2):
                break
        except (urllib.error.URLError, ConnectionError):
            if process.poll() is not None:
                raise SystemExit("the bare Voila did not come up") from None
            time.sleep(0.2)
    yield url
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


def seconds_until_ready(page: Any, url: str) -> float:
    """Open an address and return the seconds until its tree, or the bare widget, is there."""
    begun = time.perf_counter()
    page.goto(url)
    page.wait_for_selector(ROW, timeout=120_000)
    return time.perf_counter() - begun


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


def shown(size: int, place: str, ready: list[float], bare: list[float], figures: dict[str, float]) -> None:
    """Print one line of the table."""
    first = statistics.median(ready)
    ratio = f"{first / statistics.median(bare):5.2f}" if bare else "     "
    rest = "  ".join(f"{name} {value:,.1f}" for name, value in figures.items())
    print(f"{size:>6} {place:<5} ready {first:5.2f} s  x bare {ratio}  {rest}", flush=True)


def in_voila(browser: Any, home: Path, runs: dict[int, str], rounds: int, edits: int) -> None:
    """Measure ``workbench serve`` against the bare page, in turn."""
    served = start(home, next(iter(runs.values())))
    try:
        with bare_voila(home) as url:
            with fresh_page(browser) as page:  # compiled files, disk caches
                seconds_until_ready(page, url)
            for size, run_id in runs.items():
                ready, bare = [], []
                for _ in range(rounds):
                    time.sleep(3)  # a server that keeps a warm kernel has it ready
                    with fresh_page(browser) as page:
                        bare.append(seconds_until_ready(page, url))
                    time.sleep(3)
                    with fresh_page(browser) as page:
                        wire = Wire(page)
                        ready.append(seconds_until_ready(page, f"{served.url}&run={run_id}"))
                        figures = measure_edits(page, wire, edits) if len(ready) == rounds else {}
                shown(size, "Voila", ready, bare, figures)
    finally:
        served.stop()


def in_lab(browser: Any, home: Path, runs: dict[int, str], edits: int) -> None:
    """Measure the dashboard in a cell of JupyterLab; readiness counts from the cell's start."""
    with running_lab(home) as lab:
        for size, run_id in runs.items():
            cell = f"from pathlib import Path\nfrom workbench.engine import load_run\nfrom workbench.widgets import dashboard\ndashboard(load_run(Path('.'), {run_id!r}))"
            lab.put(f"look-{size}.ipynb", [cell], "python3")
            with fresh_page(browser) as page:
                wire = Wire(page)
                page.goto(lab.page(f"look-{size}.ipynb"))
                page.locator(".jp-Notebook .jp-Cell").first.wait_for(timeout=90_000)
                page.get_by_text("| Idle").wait_for(timeout=60_000)
                page.locator(".jp-Notebook .jp-Cell").first.click()
                begun = time.perf_counter()
                page.keyboard.press("Shift+Enter")
                page.wait_for_selector(ROW, timeout=120_000)
                ready = time.perf_counter() - begun
                shown(size, "Lab", [ready], [], measure_edits(page, wire, edits))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="12,1111,11111")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--edits", type=int, default=20)
    parser.add_argument("--no-lab", action="store_true")
    options = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as name, sync_playwright() as driver:
        home = Path(name)
        sizes = [int(size) for size in options.sizes.split(",")]
        runs = {size: make_large_run(home, size, f"20180630-120000-{size:04x}") for size in sizes}
        browser = driver.chromium.launch(executable_path=find_chromium(), args=FLAGS)
        in_voila(browser, home, runs, options.rounds, options.edits)
        if not options.no_lab:
            in_lab(browser, home, runs, options.edits)
        browser.close()


if __name__ == "__main__":
    main()
