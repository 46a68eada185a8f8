"""``workbench serve`` as tests use it."""

import json
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import run_json, run_ok
from tests.conftest import FinishedRun
from tests.fakes.browser import WORKBENCH, Lab
from tests.fakes.screens import RUN, make_big_run, make_run


@dataclass
class Served:
    """A running ``workbench serve``."""

    process: subprocess.Popen[str]
    url: str
    home: Path
    lines: list[str] = field(default_factory=list)

    def stop(self, signum: int = signal.SIGINT, within: float = 90) -> int:
        self.process.send_signal(signum)
        return self.process.wait(timeout=within)

    def close(self) -> None:
        """End it if it still runs, and let go of what it printed."""
        if self.process.poll() is None:
            self.stop()
        if self.process.stdout is not None:
            self.process.stdout.close()


def start(home: Path, *arguments: str, within: float = 200, stderr: Any = subprocess.DEVNULL) -> Served:
    environment = {**os.environ, "WORKBENCH_HOME": str(home)}
    process = subprocess.Popen(
        [*WORKBENCH, "serve", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=stderr,
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


@contextmanager
def serving(home: Path, *arguments: str, page: Any = None) -> Iterator[Served]:
    """A server for one block; the page, which would log its end as an error, is left before it."""
    with tempfile.TemporaryFile("w+") as log:
        running = start(home, *arguments, stderr=log)
        try:
            yield running
        except Exception:
            log.seek(0)
            print("the server said:", log.read()[-3000:], sep="\n")
            if page is not None:
                print("the page shows:", page.locator("body").inner_text(timeout=5_000)[:1000], sep="\n")
            raise
        finally:
            if page is not None:
                page.goto("about:blank")
            running.close()


@pytest.fixture(scope="session")
def run_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with a finished run of nine propositions, and one of sixty."""
    home = tmp_path_factory.mktemp("served") / "home"
    make_big_run(home)
    make_run(home)
    return home


@pytest.fixture(scope="session")
def served(run_home: Path) -> Iterator[Served]:
    """The run's dashboard, on loopback."""
    with serving(run_home, RUN) as running:
        yield running


@pytest.fixture(scope="session")
def shown_run(served: Served, demo: FinishedRun, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of the demo run, brought to the served home with two scenarios."""
    package = tmp_path_factory.mktemp("package") / "run.zip"
    run_ok(demo.home, "export", demo.run_id, "--to", "zip", "-o", str(package))
    asked(served, "import", str(package))
    leaves = [leaf["id"] for leaf in demo.leaves]
    asked(served, "whatif", demo.run_id, "--set", f"{leaves[0]}=0.4", "--scenario", "weak record",
          "--set", "rationale=The reference class of the last ten years only", "--set", "probability=0.3")  # fmt: skip
    asked(served, "whatif", demo.run_id, "--set", f"{leaves[-1]}=0.9", "--pin", "P2", "--scenario", "firm oil",
          "--set", "probability=0.2")  # fmt: skip
    return f"{served.url}&run={demo.run_id}"


def asked(served: Served, *arguments: str) -> Any:
    return run_json(served.home.parent, *arguments)


@pytest.fixture(params=["light"])
def themed(lab: Lab, request: pytest.FixtureRequest) -> Iterator[str]:
    """JupyterLab in a theme of its own settings; light again afterwards."""
    theme = str(request.param)
    settings = "/lab/api/settings/@jupyterlab/apputils-extension:themes"
    lab.ask(settings, method="PUT", body={"raw": json.dumps({"theme": f"JupyterLab {theme.title()}"})})
    yield theme
    lab.ask(settings, method="PUT", body={"raw": "{}"})
