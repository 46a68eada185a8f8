"""``docs``: the manual of this very version, built where it is asked for, in the browser or in a folder."""

import contextlib
import functools
import http.server
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from proxies.atomic import private_folder
from sandbox.jupyter.door import HOST, is_own_request
from workbench.cli.common import command, leave_current_folder, say
from workbench.environment import home_from
from workbench.errors import UsageError
from workbench.manual import contents_hash, manual_sources
from workbench.plug_points import OPERATIONS, plugin_names
from workbench.source_hash import source_hash
from workbench.store.home_folder import make_home
from workbench.terminal import printable

#: Without a port of the person's own; the pages of runs begin at 8866.
DEFAULT_PORT = 8860
_BUILDER = "mkdocs-material"


@command
def docs(
    folder: Annotated[
        Path | None, typer.Argument(help="Put the finished pages there instead of serving them.")
    ] = None,
    port: Annotated[int | None, typer.Option(help="Port on 127.0.0.1; 8860 unless told.")] = None,
) -> None:
    """Show the manual in the browser, or write it to a folder. It is built once per version. Ctrl-C ends it."""
    require_builder()
    if folder is not None and (folder.is_file() or (folder.is_dir() and any(folder.iterdir()))):
        raise UsageError(f"{folder} is not empty: name a new folder")
    target = folder.absolute() if folder is not None else None
    home = home_from(os.environ)
    make_home(home)
    leave_current_folder()
    site = built_manual(home)
    if target is not None:
        shutil.copytree(site, target, dirs_exist_ok=True)
        say(f"{target / 'index.html'} is its first page")
        return
    address = (HOST, DEFAULT_PORT if port is None else port)
    try:
        server = http.server.ThreadingHTTPServer(address, functools.partial(_Pages, directory=str(site)))
    except (OSError, OverflowError) as error:  # the latter: a number above 65535
        raise UsageError(f"port {address[1]} cannot be used ({error}): choose another with --port") from None
    with server:
        sys.stdout.write(f"http://{HOST}:{server.server_port}/\n")
        sys.stdout.flush()
        # Ctrl-C and a signal to end are how this command is meant to end.
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()


def require_builder() -> None:
    """Raise ``UsageError`` where the extra ``docs`` is not installed."""
    if find_spec("material") is None:
        raise UsageError(
            f"the manual is built by {_BUILDER}, which is not installed: pip install 'analyst-workbench[docs]'"
        )


def built_manual(home: Path) -> Path:
    """Return the folder of the finished pages; built anew only where a page, the code or the builder changed.

    Raises
    ------
    UsageError
        MkDocs complains of a page.
    """
    # Operations of installed packages stand in its reference.
    code = f"{source_hash('workbench', 'proxies', 'sandbox')} {version(_BUILDER)} {plugin_names(OPERATIONS)}"
    name = contents_hash(manual_sources(), code).rpartition(":")[2][:16]
    place = home / "manual"
    site = place / name
    if site.is_dir():
        return site
    say("Building the manual, once for this version ...")
    shutil.rmtree(place, ignore_errors=True)  # those of earlier versions
    work = place / f"{name}.work"
    private_folder(place)
    private_folder(work)
    for words in (
        ["-m", "workbench.reference", str(work)],
        ["-m", "mkdocs", "build", "-s", "-f", str(work / "mkdocs.yml")],
    ):
        done = subprocess.run(
            [sys.executable, "-P", *words],
            env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            lines = (done.stderr + done.stdout).strip().splitlines() or ["no reason given"]
            raise UsageError(f"the manual could not be built: {printable('; '.join(lines[-5:]))}")
    os.replace(work / "site", site)
    shutil.rmtree(work)
    return site


class _Pages(http.server.SimpleHTTPRequestHandler):
    """The finished pages, for requests that name this server; nothing is logged."""

    def send_head(self) -> Any:
        """What every request begins with, HEAD as well as GET: the door stands here and not before one method."""
        assert isinstance(self.server, http.server.HTTPServer)
        said = {name.title(): value for name, value in self.headers.items()}  # names have no case
        if len(said) < len(self.headers) or not is_own_request(said, self.server.server_port):
            self.send_error(403)
            return None
        return super().send_head()

    def list_directory(self, path: str | os.PathLike[str]) -> None:
        """No folder is listed."""
        self.send_error(404)

    def log_message(self, format: str, *values: object) -> None:
        """Say nothing: the terminal is the person's."""
