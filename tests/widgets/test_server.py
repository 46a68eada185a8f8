import json
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from sandbox.jupyter import door
from tests.fakes.screens import RUN
from workbench.cli import dashboard_server as server
from workbench.cli.lab import lab, lab_environment
from workbench.cli.serve import serve
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
    for name in ("index.html.j2", "page.html"):
        text = (folder / name).read_text(encoding="utf-8")
        assert "//" not in text.replace("{{", "").replace("data:;", "")


def test_the_served_notebook_is_valid_and_uses_public_names_only() -> None:
    import nbformat

    notebook = nbformat.read(server.shipped_notebook("dashboard.ipynb"), as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert all(not cell.outputs for cell in notebook.cells)


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
