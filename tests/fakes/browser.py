"""Headless Chromium and JupyterLab, for whoever looks at a screen of ours in them. ``tests/conftest.py`` offers the fixtures."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREENSHOTS = Path(__file__).resolve().parents[2] / "out" / "screenshots"
WORKBENCH = [sys.executable, "-m", "workbench.cli.main"]
TOKEN = "a-token-of-this-test-and-no-other"
ROOT = '[role="treeitem"][data-id="P0"] [data-field="probability"]'
#: Three browsers on two cores, with a kernel each: a page may need more than Playwright's half minute.
PATIENCE_MS = 90_000


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """Headless Chromium of the system; skips without one, unless REQUIRE_BROWSER=1.

    For one module: playwright's event loop runs in this thread as long as its driver is open, and no async test of
    another module could run beside it.
    """
    path = find_chromium()
    if path is None:
        complaint = "no Chromium: install one (chromium, chromium-browser or google-chrome on PATH)"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(complaint)
        pytest.skip(complaint)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


def patient(screen: Any) -> Any:
    """A page, or a context of pages, that waits as long as a busy machine needs."""
    screen.set_default_timeout(PATIENCE_MS)
    return screen


@pytest.fixture
def tab(chromium: Any) -> Iterator[Any]:
    """A page in a profile of its own, which nobody watches."""
    made = patient(chromium.new_page())
    yield made
    made.close()


_GIVEN_UP = re.compile(
    r"Error: widget model not found\n +at [\w.]*get_model \S+\n +at async [\w.]*renderModel "
)


@dataclass
class Watched:
    """A page and everything suspicious that happened on it."""

    page: Any
    outside: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def clean(self) -> None:
        assert self.outside == [], "the page reached for something that is not on this machine"
        # A page that Voila gave up is drawn anew (test_slow_drawing.py); what it logged before that is Voila's.
        logged = [each for each in self.errors if not _GIVEN_UP.match(each)]
        assert logged == [], "the page logged errors"


@contextmanager
def watching(chromium: Any) -> Iterator[Watched]:
    """A fresh browser profile of 1280 by 800; requests that leave loopback are recorded and refused."""
    context = patient(chromium.new_context(viewport={"width": 1280, "height": 800}))
    page = context.new_page()
    seen = Watched(page)

    def loopback(url: str) -> bool:
        return url.startswith(("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:", "about:"))

    def refuse(route: Any) -> None:
        seen.left.append(route.request.url)
        route.abort()

    # ``outside`` is what the page asked for, even where a policy stopped it; ``left`` is what would have gone out
    page.on("request", lambda made: None if loopback(made.url) else seen.outside.append(made.url))
    page.on("websocket", lambda made: None if loopback(made.url) else seen.outside.append(made.url))
    page.on("pageerror", lambda error: seen.errors.append(str(error)))
    page.on(
        "console",
        lambda message: (
            seen.errors.append(f"{message.text} ({message.location['url']})")
            if message.type == "error"
            else None
        ),
    )
    context.route(lambda url: not loopback(url), refuse)
    yield seen
    context.unroute_all()  # an intercepted farewell is lost, and the kernel would outlive the test
    page.goto("about:blank")
    context.close()


@pytest.fixture
def watched(chromium: Any) -> Iterator[Watched]:
    """A page in a profile of this test's own."""
    with watching(chromium) as seen:
        yield seen


def open_tab(page: Any, name: str) -> None:
    """Open a tab of a run's page."""
    page.get_by_role("tab", name=name, exact=True).first.click()


def editor(page: Any, node: str) -> Any:
    return page.get_by_label(f"probability of {node}", exact=True)


def type_in(page: Any, node: str, text: str) -> None:
    """Type a driver's value, and wait until its row shows that it was edited."""
    editor(page, node).fill(text)
    editor(page, node).press("Enter")
    page.wait_for_selector(f'[data-id="{node}"][data-edited="true"]')


def wait_for_text(page: Any, selector: str, text: str) -> None:
    page.wait_for_function(
        "([selector, text]) => document.querySelector(selector)?.textContent === text",
        arg=[selector, text],
    )


def save_download(page: Any, press: Callable[[], None], folder: Path) -> Path:
    """Press what downloads, and return the file, which has the name that the page gave it."""
    with page.expect_download() as waiting:
        press()
    path = folder / str(waiting.value.suggested_filename)
    waiting.value.save_as(path)
    return path


def axe_findings(page: Any, *parts: str) -> list[str]:
    """What axe-core finds with every rule of it on, in the whole page or in parts of it.

    Without the proof's frame, which holds no script of anybody's.
    """
    from axe_playwright_python.sync_playwright import Axe

    context: dict[str, Any] = {"exclude": [["iframe"]]}
    if parts:
        context["include"] = [[part] for part in parts if page.locator(part).count()]
    return [
        f"{found['id']}: {found['nodes'][0]['html'][:160]} {found['nodes'][0].get('failureSummary', '')[:200]}"
        for found in Axe().run(page, context=context).response["violations"]
    ]


def shot(page: Any, name: str) -> Path:
    """Keep a picture as a test artefact."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path)
    return path


@dataclass(frozen=True)
class Lab:
    """A running ``workbench lab``: its address, and the folder whose notebooks it shows."""

    url: str
    home: Path

    def page(self, notebook: str) -> str:
        return f"{self.url}/lab/tree/{notebook}?token={TOKEN}&reset"

    def ask(self, path: str, *, method: str = "GET", body: object = None) -> Any:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        request = urllib.request.Request(
            self.url + path,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"token {TOKEN}"},
            method=method,
        )
        with opener.open(request, timeout=60) as reply:
            return json.loads(reply.read() or b"null")

    def put(self, name: str, cells: list[str], kernel: str) -> None:
        """Write a notebook of code cells that were not run yet."""
        common = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
        made = [{**common, "id": f"c{number}", "source": source} for number, source in enumerate(cells)]
        spec = {"name": kernel, "display_name": kernel, "language": "python"}
        notebook = {"cells": made, "metadata": {"kernelspec": spec}, "nbformat": 4, "nbformat_minor": 5}
        (self.home / name).write_text(json.dumps(notebook))


@contextmanager
def running_lab(home: Path) -> Iterator[Lab]:
    """Start ``workbench lab`` in a folder; it ends with the block and leaves nothing behind."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # settings of the person who runs the tests must neither rule here nor be changed
    private = {
        name: str(home / ".jupyter")
        for name in ("JUPYTER_CONFIG_DIR", "JUPYTERLAB_SETTINGS_DIR", "JUPYTERLAB_WORKSPACES_DIR")
    }
    with home.with_name(f"{home.name}.log").open("wb") as log:
        process = subprocess.Popen(
            [*WORKBENCH, "lab", "--no-browser", "--port", str(port)],
            env={**os.environ, **private, "WORKBENCH_HOME": str(home), "JUPYTER_TOKEN": TOKEN},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
    made = Lab(f"http://127.0.0.1:{port}", home)
    end = time.monotonic() + 200
    while True:
        try:
            made.ask("/api/status")
            break
        except (urllib.error.URLError, ConnectionError):
            assert process.poll() is None and time.monotonic() < end, "JupyterLab did not come up"
            time.sleep(0.2)
    yield made
    process.terminate()
    process.wait(timeout=60)
    with pytest.raises((urllib.error.URLError, ConnectionError)):
        made.ask("/api/status")


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab that ``workbench lab`` started in an empty folder."""
    with running_lab(tmp_path_factory.mktemp("lab")) as made:
        yield made


def open_run_page(page: Any, url: str) -> None:
    """Go to the page of a run and wait until its tree stands."""
    page.goto(url)
    page.wait_for_selector('[role="treeitem"]')
