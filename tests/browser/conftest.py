import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.screens import make_big_run, make_run

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
WORKBENCH = [sys.executable, "-c", "from workbench.cli.main import main; main()"]


def find_chromium() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@dataclass
class Served:
    """A running ``workbench serve``."""

    process: subprocess.Popen[str]
    url: str
    home: Path
    lines: list[str] = field(default_factory=list)

    def stop(self, signum: int = signal.SIGINT, within: float = 30) -> int:
        self.process.send_signal(signum)
        return self.process.wait(timeout=within)


def start(home: Path, *arguments: str, within: float = 90) -> Served:
    environment = {**os.environ, "WORKBENCH_HOME": str(home)}
    process = subprocess.Popen(
        [*WORKBENCH, "serve", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    served = Served(process, "", home)

    def read() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            served.lines.append(line)

    threading.Thread(target=read, daemon=True).start()
    end = time.monotonic() + within
    while not served.lines and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    if not served.lines:
        process.kill()
        pytest.fail(f"workbench serve said nothing (exit {process.poll()})")
    served.url = served.lines[0].strip()
    return served


@pytest.fixture(scope="session")
def run_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a finished run of nine propositions, and one of sixty."""
    home = tmp_path_factory.mktemp("home")
    make_big_run(home)
    make_run(home)
    return home


@pytest.fixture(scope="session")
def served(run_home: Path) -> Iterator[Served]:
    """The run's dashboard, on loopback."""
    from tests.fakes.screens import RUN

    running = start(run_home, RUN)
    yield running
    if running.process.poll() is None:
        running.stop()
    if running.process.stdout is not None:
        running.process.stdout.close()


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


@dataclass
class Watched:
    """A page and everything suspicious that happened on it."""

    page: Any
    outside: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def clean(self) -> None:
        assert self.outside == [], "the page reached for something that is not on this machine"
        assert self.errors == [], "the page logged errors"


@pytest.fixture
def watched(chromium: Any) -> Iterator[Watched]:
    """A fresh browser profile of 1280 by 800; requests that leave loopback are recorded and refused."""
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
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
    page.on("console", lambda message: seen.errors.append(message.text) if message.type == "error" else None)
    context.route(lambda url: not loopback(url), refuse)
    yield seen
    context.unroute_all()  # an intercepted farewell is lost, and the kernel would outlive the test
    page.goto("about:blank")
    context.close()


def shot(page: Any, name: str) -> Path:
    """Keep a picture as a test artefact."""
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    path = SCREENSHOTS / f"{name}.png"
    page.screenshot(path=path)
    return path
