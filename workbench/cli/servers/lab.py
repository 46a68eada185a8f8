"""``lab``: JupyterLab in a folder with the tutorials, with the Analyst kernel and cards of ours in its launcher."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from proxies.atomic import private_folder, replace_file
from sandbox.jupyter.door import lab_options
from workbench.cli.common import IsolationLevel, command, leave_current_folder, unlisted
from workbench.cli.servers.dashboard_server import SERVER_PAGES, shipped_notebook
from workbench.engine.run_settings import check_level
from workbench.environment import home_from
from workbench.store.home_folder import make_home

#: What the kernels' provisioner reads (``sandbox.jupyter.provisioner``, not imported here: it loads Jupyter).
ISOLATION_VARIABLE = "ANALYST_ISOLATION"
#: Our part of JupyterLab's page: the cards of its launcher.
LAB_EXTENSIONS = Path(__file__).resolve().parent / "labextensions"
TUTORIALS = tuple(
    f"{name}.ipynb"
    for name in ("tutorial", "review", "own_data", "live_model", "track_record", "science_report")
)


@command
def lab(
    port: Annotated[
        int | None, typer.Option(help="Port on 127.0.0.1; JupyterLab chooses unless told.")
    ] = None,
    browser: Annotated[bool, unlisted(help="Open a browser window.")] = True,
    isolation: IsolationLevel = None,
) -> None:
    """Start JupyterLab in the data folder's notebooks, with the tutorials and cards for a claim and the newest run."""
    if isolation is not None:
        check_level(isolation)
    home = home_from(os.environ)
    make_home(home)
    arguments = [
        sys.executable,
        "-P",
        "-m",
        "sandbox.jupyter.lab_process",
        *lab_options(),
        f"--ServerApp.root_dir={home}",
        # The root is the home, so that a proof below runs/ opens too; the page begins beside the tutorials.
        f"--FileContentsManager.preferred_dir={put_tutorials(home).name}",
        f"--LabApp.extra_labextensions_path={LAB_EXTENSIONS}",
        f"--ServerApp.extra_template_paths={SERVER_PAGES}",
    ]
    # One line with the address (`lab_server`), and what went wrong.
    arguments += ["--ServerApp.log_level=WARN", "--LabApp.log_level=WARN"]
    # JupyterLab asks the outside for news and updates unless told not to
    arguments += ["--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    # The default manager of extensions asks PyPI and installs from a page.
    arguments += ["--LabApp.extension_manager=readonly"]
    arguments += (
        ["--allow-root"] if os.name == "posix" and os.geteuid() == 0 else []
    )  # a container's only user
    arguments += [] if port is None else [f"--ServerApp.port={port}", "--ServerApp.port_retries=0"]
    arguments += [] if browser else ["--no-browser"]
    # This process becomes JupyterLab: whoever stops it, by Ctrl-C or a signal, stops JupyterLab and leaves nothing behind.
    # After home_from: WORKBENCH_HOME may be relative to the folder that is left here, and is handed on absolute.
    leave_current_folder()
    os.execve(sys.executable, arguments, {**lab_environment(isolation), "WORKBENCH_HOME": str(home)})


def put_tutorials(home: Path) -> Path:
    """Copy the notebooks that ship into a folder of the home and return it; one that is there already is a person's."""
    folder = home / "notebooks"
    private_folder(folder)
    for name in TUTORIALS:
        if not (folder / name).exists():
            replace_file(folder / name, shipped_notebook(name).read_bytes(), private=True)
    return folder


def lab_environment(isolation: str | None = None) -> dict[str, str]:
    """Return this environment with the Analyst kernelspec on Jupyter's path, also in a checkout.

    The level of its kernels is the one asked for here, not one that a ``.env`` file of the current folder brought along.
    """
    checkout = Path(__file__).resolve().parents[3]
    environment = dict(os.environ)
    environment.pop(ISOLATION_VARIABLE, None)
    if isolation is not None:
        environment[ISOLATION_VARIABLE] = isolation
    if (checkout / "kernels" / "analyst" / "kernel.json").is_file():
        folders = [path for path in environment.get("JUPYTER_PATH", "").split(os.pathsep) if path]
        environment["JUPYTER_PATH"] = os.pathsep.join([*folders, str(checkout)])
    return environment
