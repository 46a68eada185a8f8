import asyncio
import json
import logging
import socket
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tornado.web
import typer
from typer.testing import CliRunner

from sandbox.jupyter import door
from tests.fakes.screens import RUN
from workbench.cli.servers import dashboard_server as server
from workbench.cli.servers import warm_kernels
from workbench.cli.servers.lab import lab, lab_environment
from workbench.cli.servers.serve import serve
from workbench.errors import UsageError

runner = CliRunner()


@pytest.fixture
def app() -> typer.Typer:
    app = typer.Typer()
    app.command()(serve)
    app.command()(lab)
    return app


@pytest.fixture
def voila(home: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from voila.app import Voila

    Voila.clear_instance()
    monkeypatch.setattr("signal.signal", lambda *_: None)  # Voila takes over SIGTERM
    made = server.make_app(home, RUN, port=None, token="a-token")
    yield made
    type(made).clear_instance()


def test_the_server_listens_on_loopback_with_a_token(voila: Any) -> None:
    assert (voila.ip, voila.token, voila.open_browser) == ("127.0.0.1", "a-token", False)


@pytest.mark.parametrize("name", ["tornado.access", "tornado.application", "Voila"])
def test_the_token_of_an_address_stands_in_no_log(
    voila: Any, name: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    logger = voila.log if name == "Voila" else logging.getLogger(name)
    monkeypatch.setattr(
        logger, "disabled", False
    )  # a configuration of logging elsewhere silences loggers for the process
    with caplog.at_level("ERROR"), caplog.at_level("ERROR", logger=logger.name):
        logger.addHandler(caplog.handler)  # Voila's own does not propagate
        logger.error("404 GET /?token=%s&run=r (127.0.0.1)", "a-token")
        logger.removeHandler(caplog.handler)
    assert "a-token" not in caplog.text and "404 GET /?token=...&run=r" in caplog.text


def test_idle_kernels_are_stopped(voila: Any) -> None:
    settings = voila.config.MappingKernelManager
    assert (settings.cull_idle_timeout, settings.cull_interval) == (door.IDLE_SECONDS, door.CULL_SECONDS)
    # the longest that a kernel outlives its page: pings unanswered, then idle, then the next look
    assert 2 * door.PING_SECONDS + door.IDLE_SECONDS + door.CULL_SECONDS <= 60


def test_the_dashboard_kernel_is_this_python_whatever_python3_is_installed(
    voila: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    other = tmp_path / "jupyter" / "kernels" / "python3"
    other.mkdir(parents=True)
    (other / "kernel.json").write_text(
        json.dumps({"argv": ["/bin/other"], "display_name": "other", "language": "python"})
    )
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    manager = voila.voila_configuration.kernel_spec_manager_class(parent=voila)
    spec = manager.get_all_specs()["python3"]["spec"]
    assert spec["argv"][0] == sys.executable
    assert spec["env"] == {"WORKBENCH_HOME": str(home), "WORKBENCH_RUN": RUN}
    assert list(manager.get_all_specs()) == ["python3"]


def test_our_page_template_comes_first_and_names_nothing_outside(voila: Any) -> None:
    folder = Path(voila.template_paths[0])
    for name in ("dashboard.html.j2", "page.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "//" not in text.replace("{{", "").replace("data:;", "")


def test_a_taken_port_is_one_line(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(UsageError, match=r"cannot be used .* choose another with --port"):
            server.make_app(home, RUN, port=taken.getsockname()[1], token="t")


def test_an_impossible_port_is_one_line(home: Path) -> None:
    with pytest.raises(UsageError, match="port 700000 cannot be used"):
        server.make_app(home, RUN, port=700_000, token="t")


def test_serving_an_unknown_run_exits_2_with_one_line(
    app: typer.Typer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(home))
    result = runner.invoke(app, ["serve", "nobody"])
    assert result.exit_code == 2 and result.stdout == ""
    assert len(result.stderr.strip().splitlines()) == 1 and "nobody" in result.stderr


def test_lab_sees_the_analyst_kernel_of_a_checkout(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from jupyter_client.kernelspec import KernelSpecManager

    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path))
    found = lab_environment()["JUPYTER_PATH"]
    assert found.startswith(str(tmp_path))
    monkeypatch.setenv("JUPYTER_PATH", found)
    assert "analyst" in KernelSpecManager().find_kernel_specs()


@pytest.mark.parametrize(("kernel_name", "ended"), [("analyst", True), ("python3", False)])
async def test_only_analyst_kernels_that_were_left_are_ended(
    kernel_name: str, ended: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import timedelta
    from types import SimpleNamespace

    from jupyter_server._tz import utcnow

    from sandbox.jupyter.lab_server import LabKernels

    kernels = LabKernels(cull_idle_timeout=door.IDLE_SECONDS)
    kernels._kernels["k"] = SimpleNamespace(
        kernel_name=kernel_name,
        execution_state="idle",
        kernel_spec=SimpleNamespace(metadata={}),
        last_activity=utcnow() - timedelta(seconds=60),
    )
    stopped: list[str] = []
    monkeypatch.setattr(kernels, "shutdown_kernel", stopped.append)
    for connections in (1, 0):
        kernels._kernel_connections["k"] = connections
        await kernels.cull_kernel_if_idle("k")
        assert stopped == (["k"] if ended and not connections else [])
    kernels._kernels.clear()


class FakeKernels:
    """A kernel manager whose kernels are names, which can die and fail."""

    def __init__(self) -> None:
        self.default_kernel_name = "python3"
        self.live: dict[str, bool] = {}
        self.connected: list[str] = []
        self.rehearsed: list[str] = []
        self.broken = False
        self.ended: dict[str, str] = {}
        self.refused: Exception | None = None
        self.leaves = ""
        self.may_start = asyncio.Event()
        self.may_start.set()
        #: Set: a rehearsal ends at once.
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    def list_kernel_ids(self) -> list[str]:
        return list(self.live)

    async def shutdown_kernel(self, name: str, now: bool) -> None:
        self.live.pop(self.leaves, None)
        if self.refused is not None:
            raise self.refused
        self.ended[name] = "killed" if now else "asked"

    async def start_kernel(self, kernel_name: str) -> str:
        if self.broken:
            self.broken = False
            raise RuntimeError("no process could be started")
        await self.may_start.wait()
        name = f"kernel {len(self.live) + 1}"
        self.live[name] = True
        return name

    def get_kernel(self, name: str) -> Any:
        kernels = self

        class Client:
            def start_channels(self) -> None: ...

            def stop_channels(self) -> None: ...

            async def wait_for_ready(self, timeout: float) -> None: ...

            async def execute(self, code: str, **_: Any) -> Any:
                assert name in kernels.connected, "it could be ended as one that was left"
                kernels.rehearsed.append(name)
                await kernels.goes_on.wait()
                return {"content": {"status": "ok"}}

            async def is_alive(self) -> bool:
                return kernels.live[name]

        state = "busy" if name in self.rehearsed and not self.goes_on.is_set() else "idle"
        return SimpleNamespace(client=Client, execution_state=state)

    def notify_connect(self, name: str) -> None:
        self.connected.append(name)

    def await_page(self, name: str) -> None:
        self.connected.remove(name)

    def __contains__(self, name: str) -> bool:
        return name in self.live


async def test_a_page_gets_the_kernel_made_ahead_and_no_two_get_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_kernels, "REFILL_SECONDS", 0.05)
    manager = FakeKernels()
    kernels = warm_kernels.WarmKernels(manager)
    kernels.fill()
    taken = await asyncio.gather(*(kernels.take() for _ in range(3)))
    assert len({ready.kernel_id for ready in taken}) == 3
    assert manager.rehearsed == [taken[0].kernel_id]
    # None counts as left while its page is drawn, though the one made ahead may have been idle for hours.
    assert sorted(manager.connected) == sorted(ready.kernel_id for ready in taken)
    for ready in taken:
        kernels.release(ready)
    await asyncio.sleep(0.2)
    assert len(manager.live) == 4 and manager.connected == ["kernel 4"]  # the next one waits, and is kept
    await kernels.end()


async def test_a_kernel_made_ahead_that_died_or_never_came_costs_no_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warm_kernels, "REFILL_SECONDS", 60.0)
    manager = FakeKernels()
    kernels = warm_kernels.WarmKernels(manager)
    manager.broken = True
    kernels.fill()
    assert (await kernels.take()).kernel_id == "kernel 1" and manager.rehearsed == []
    kernels.fill()
    await asyncio.sleep(0.01)
    manager.live["kernel 2"] = False
    assert (await kernels.take()).kernel_id == "kernel 3"
    await kernels.end()
    kernels.fill()
    await asyncio.sleep(0.01)
    assert len(manager.live) == 3  # a server that ends makes no more


async def test_a_server_that_ends_kills_the_kernels_at_work_and_asks_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(warm_kernels, "REFILL_SECONDS", 60.0)
    manager = FakeKernels()
    kernels = warm_kernels.WarmKernels(manager)
    await kernels.take()
    manager.goes_on.clear()
    kernels.fill()
    await asyncio.sleep(0.01)
    await kernels.end()
    assert manager.ended == {"kernel 1": "asked", "kernel 2": "killed"}


async def test_a_server_that_ends_waits_for_a_kernel_that_starts() -> None:
    manager = FakeKernels()
    kernels = warm_kernels.WarmKernels(manager)
    manager.may_start.clear()
    kernels.fill()
    await asyncio.sleep(0.01)
    ends = asyncio.ensure_future(kernels.end())
    await asyncio.sleep(0.01)
    assert not ends.done() and not manager.live
    manager.may_start.set()
    await ends
    assert list(manager.ended) == ["kernel 1"]


@pytest.mark.parametrize("gone", [True, False])
async def test_a_kernel_that_ends_by_itself_meanwhile_stops_no_server(gone: bool) -> None:
    manager = FakeKernels()
    kernels = warm_kernels.WarmKernels(manager)
    await kernels.take()
    manager.refused = tornado.web.HTTPError(404, "Kernel does not exist")
    if gone:
        manager.leaves = "kernel 1"
        await kernels.end()
    else:  # a control: one that stands and cannot be ended is said
        with pytest.raises(tornado.web.HTTPError):
            await kernels.end()


async def test_a_kernel_that_tells_its_page_that_it_lives_is_ended_when_the_page_has_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from datetime import UTC, datetime, timedelta
    from types import SimpleNamespace

    from workbench.cli.servers.warm_kernels import CONNECT_SECONDS, PageKernels

    kernels = PageKernels(cull_idle_timeout=door.IDLE_SECONDS)
    stopped: list[str] = []
    monkeypatch.setattr(kernels, "shutdown_kernel", stopped.append)
    kernel = SimpleNamespace(
        kernel_name="python3", execution_state="idle", kernel_spec=SimpleNamespace(metadata={})
    )
    kernels._kernels["k"], kernels._kernel_connections["k"] = kernel, 1
    kernels.notify_disconnect("k")

    async def ended_later(seconds: float) -> bool:
        stopped.clear()
        kernels._left["k"] -= timedelta(seconds=seconds)
        kernel.last_activity = datetime.now(UTC)  # its pulse
        await kernels.cull_kernel_if_idle("k")
        return stopped == ["k"]

    assert [await ended_later(seconds) for seconds in (0, door.IDLE_SECONDS + 1)] == [False, True]
    # One whose page still loads its scripts is no page that has left.
    kernels._kernel_connections["k"] = 1
    kernels.await_page("k")
    assert [await ended_later(seconds) for seconds in (CONNECT_SECONDS, door.IDLE_SECONDS + 1)] == [
        False,
        True,
    ]
    kernels._kernels.clear()
