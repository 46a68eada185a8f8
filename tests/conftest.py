"""What every test stands on: no network but loopback, real data only where it lies, long tests only on request."""

import asyncio
import fcntl
import gc
import json
import os
import re
import shutil
import signal
import socket
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from _pytest.doctest import DoctestModule

from proxies.secret_registry import SECRETS
from proxies.settings import ProxySettings
from sandbox.kernels.folders import make_held_folder, remove_orphaned_folders, remove_tree
from tests.command_line import run_process
from tests.fakes.browser import chromium, lab, tab, watched

__all__ = ["chromium", "lab", "tab", "watched"]  # fixtures

# how long an example takes says nothing about it on a machine that others use too
_QUIET: dict[str, Any] = {"deadline": None, "suppress_health_check": [hypothesis.HealthCheck.too_slow]}
hypothesis.settings.register_profile("fast", max_examples=10, derandomize=True, **_QUIET)
# A tier fails for what a change did: its examples stay the same until a law is changed. Soak looks for new ones.
hypothesis.settings.register_profile("suite", max_examples=50, derandomize=True, **_QUIET)
hypothesis.settings.register_profile("soak", max_examples=500, **_QUIET)
hypothesis.settings.load_profile("suite")

# As the command does, and before anything loads numpy: several test processes share a few cores, and idle BLAS threads spin.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

_LOOPBACK = {"127.0.0.1", "::1", "localhost", "0.0.0.0", "::"}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--soak", action="store_true", help="run the long tests too")
    parser.addoption("--live", action="store_true", help="run the tests that talk to real providers")


#: Where files are held in memory, and the room that is asked for: a run of everything leaves half a gigabyte there.
_MEMORY, _ROOM = Path("/dev/shm"), 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Let soak see ten times as many examples and try nothing again, and Ctrl-C reach the commands that tests start.

    Folders of tests lie in memory where there is room, and are gone at the end: a fifth of what a test of the store takes is
    waiting for a disk. With ``--basetemp`` they lie where it says, and stay.
    """
    if config.getoption("--soak"):
        hypothesis.settings.load_profile("soak")
        config.option.force_reruns = 0  # what fails seldom is what soak is for
    config.pluginmanager.register(_Collection())
    in_memory = os.access(_MEMORY, os.W_OK) and shutil.disk_usage(_MEMORY).free > _ROOM
    if config.option.basetemp is None and in_memory:
        remove_orphaned_folders(_MEMORY)  # of runs that were killed
        folder, lock = make_held_folder(_MEMORY)
        config.option.basetemp = folder / "t"
        config.add_cleanup(partial(remove_tree, folder))
        config.add_cleanup(partial(os.close, lock))
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell starts what runs in the background so
        signal.signal(signal.SIGINT, signal.default_int_handler)


class _Collection:
    """A plugin of its own, since a conftest hears of its own folder alone; every test process collects everything."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self) -> Generator[None, object, object]:
        gc.disable()  # what is imported stays: walking it again and again would be a fifth of the collection
        try:
            return (yield)
        finally:
            gc.enable()
            gc.set_threshold(
                50_000, 20, 20
            )  # each file ends with a collection of its own; those between were a tenth of all

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(
        self, file_path: Path
    ) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
        """Import no module for its doctests that has none."""
        collectors = yield
        modules = [collector for collector in collectors if isinstance(collector, DoctestModule)]
        if not modules or ">>>" in file_path.read_text():
            return collectors
        return [collector for collector in collectors if collector not in modules]


# A record is measured beside a run by two more processes: only the tests of records want them.
os.environ["WORKBENCH_RECORD"] = "off"

#: Folders by what their files take, the longest first, so that no process is left with a long one at the end.
_LONG_FIRST = (
    "browser",
    "tests",  # its own files: tutorials, benchmarks, the manual, an installation
    "sandbox",
    "cli",
    "kernels",
    "engine",
    "agents",
    "studies",
    "rounds",
    "mcp",
    "proxies",
    "models",
    "widgets",
)
#: Files that share a server, or the run of the demo in the fast tier, go to one process: a second one would only wait for it.
_TOGETHER = {
    "tests/cli/test_main_job.py": "demo",
    "tests/cli/test_python_api.py": "demo",
    "tests/browser/test_lab.py": "JupyterLab",
    "tests/browser/test_lab_axe.py": "JupyterLab",
    "tests/browser/test_lab_door.py": "JupyterLab",
    "tests/browser/test_lab_workflows.py": "JupyterLab",
    "tests/browser/test_saved_notebook.py": "JupyterLab",
    "tests/browser/test_hostile_lab.py": "JupyterLab",
    "tests/sandbox/test_lab_browser.py": "JupyterLab",
    "tests/browser/test_dashboard_page.py": "dashboard",
    "tests/browser/test_evidence_page.py": "dashboard",
    "tests/browser/test_every_state.py": "pictures",
    "tests/browser/test_first_screen_walks.py": "workflows",
    "tests/browser/test_hostile_proof.py": "dashboard",
    "tests/browser/test_home_page.py": "workflows",
    "tests/browser/test_newcomer.py": "workflows",
    "tests/browser/test_busy_page.py": "workflows",
    "tests/browser/test_keyboard.py": "workflows",
    "tests/browser/test_hostile_text.py": "dashboard",
    "tests/browser/test_note_page.py": "dashboard",
    "tests/browser/test_read_only.py": "dashboard",
    "tests/browser/test_serve_command.py": "dashboard",
    "tests/browser/test_serve_door.py": "dashboard",
    "tests/browser/test_screenshots.py": "pictures",
    "tests/browser/test_slow_drawing.py": "dashboard",
    "tests/browser/test_typing.py": "workflows",
    "tests/browser/test_workflows.py": "workflows",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for marker in ("soak", "live"):
        if not config.getoption(f"--{marker}"):
            skip = pytest.mark.skip(reason=f"needs --{marker}")
            for item in items:
                if item.get_closest_marker(marker) is not None:
                    item.add_marker(skip)
    rank = {folder: place for place, folder in enumerate(_LONG_FIRST)}
    items.sort(key=lambda item: rank.get(item.path.parent.name, len(rank)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For ``--dist loadfile``: whole files to a process, and those that share a server to the same."""
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = super()._split_scope(nodeid)
            return _TOGETHER.get(file, file)

    return Scheduling(config, log) if config.getoption("dist") == "loadfile" else None


@pytest.fixture(autouse=True, scope="module")
def leaks_end_with_their_file() -> Iterator[None]:
    """Collect garbage after each file: a socket or a coroutine left open there fails there, not in a later file by chance.

    What outlives the file, most of it imported modules, is not walked again after every later one: half a second each.
    """
    yield
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True, scope="session")
def leaks_end_with_the_session() -> Iterator[None]:
    """Have pytest's own collections at the end walk everything: what outlived its file and was dropped later."""
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def only_loopback(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test that opens a connection to anything but this machine; other machines' names are unknown at once.

    Where no network is, a resolver that nobody answers takes a quarter of a minute to say so.
    """
    if request.node.get_closest_marker("live") is not None:
        yield
        return
    real_connect, real_lookup = socket.socket.connect, socket.getaddrinfo

    def guarded(self: socket.socket, address: Any) -> None:
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] not in _LOOPBACK:
            raise AssertionError(f"a test tried to reach {address[0]}: the suite is offline")
        real_connect(self, address)

    def lookup(host: Any, *rest: Any, **named: Any) -> Any:
        if (
            isinstance(host, str)
            and host not in _LOOPBACK
            and re.search("[a-z]", host, re.IGNORECASE)
            and ":" not in host
        ):
            raise socket.gaierror(socket.EAI_NONAME, f"the suite is offline and asks nobody for {host}")
        return real_lookup(host, *rest, **named)

    monkeypatch.setattr(socket.socket, "connect", guarded)
    monkeypatch.setattr(socket, "getaddrinfo", lookup)
    yield


async def _at_once(seconds: float) -> None:
    await asyncio.sleep(0)


@pytest.fixture(autouse=True)
def no_source_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take pauses between requests to a source as slept: GDELT, which nobody reaches here, allows one in five seconds."""
    monkeypatch.setitem(ProxySettings.__init__.__kwdefaults__, "sleep", _at_once)


@pytest.fixture(autouse=True)
def secrets_of_this_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the keys of the tests before: one of them may hold a piece of a word that this test prints."""
    monkeypatch.setattr(SECRETS, "_added", set())
    monkeypatch.setattr(SECRETS, "_origins", {})


@pytest.fixture(autouse=True)
def pages_end_with_their_test() -> Iterator[None]:
    """Stop the pages that a test opened: a look at the log, seconds later, is counted in a test that counts reads."""
    yield
    for thread in threading.enumerate():
        poll = getattr(thread, "_target", None)  # gone where it ended just now
        if thread.name == "page-poller" and poll is not None:
            poll.__self__.stop()
            thread.join(timeout=30)


@pytest.fixture(scope="session")
def test_data() -> Path:
    """Folder of real data (``WORKBENCH_TEST_DATA``, else ``../shared/data`` beside the checkout), or a skip."""
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("WORKBENCH_TEST_DATA") or default)
    if not folder.is_dir():
        pytest.skip("no real data: set WORKBENCH_TEST_DATA")
    return folder


@dataclass(frozen=True)
class FinishedRun:
    """A run that was made once for the whole test session: look at it, do not change it."""

    home: Path
    document: dict[str, Any]
    stderr: str

    @property
    def run_id(self) -> str:
        return str(self.document["run_id"])

    @property
    def folder(self) -> Path:
        return self.home / "home" / "runs" / self.run_id

    def node(self, node: str) -> dict[str, Any]:
        return next(item for item in self.document["nodes"] if item["id"] == node)

    @property
    def leaves(self) -> list[dict[str, Any]]:
        inner = {item["parent"] for item in self.document["nodes"]}
        return [item for item in self.document["nodes"] if item["id"] not in inner]


def made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], None]) -> Path:
    """A folder that ``make`` fills once for all test processes; who comes later waits until it is full.

    Nobody may write into it: who wants to, copies it.
    """
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with open(folder.with_suffix(".lock"), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        full = folder / "full"
        if not full.exists():
            shutil.rmtree(folder, ignore_errors=True)  # half of one, where the first to try failed
            folder.mkdir()
            make(folder)
            full.touch()
    return folder


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    """The demo's claim, run in sealed kernels by the command line in a process of its own."""

    def analyze(home: Path) -> None:
        words = ("The S&P 500 closes higher on 2018-12-31 than on 2018-06-29", "--cutoff", "2018-06-30")
        done = run_process(home, "analyze", *words, "--json")
        assert done.returncode == 0, done.stderr
        (home / "stdout").write_text(done.stdout)
        (home / "stderr").write_text(done.stderr)

    home = made_once(tmp_path_factory, "demo", analyze)
    document = json.loads((home / "stdout").read_text())
    return FinishedRun(home, document, (home / "stderr").read_text())
