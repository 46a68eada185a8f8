"""Print the note as PDF with a headless Chromium of the system: layout, breaks and fonts are the page's own.

The page holds no script, no address and pictures of our own encoding only, so the browser meets nothing a stranger wrote but
text. It gets a fresh profile, an environment without keys, and no network all the same.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from workbench.errors import Option, UsageError

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_NOBODY = 65534
_PATIENCE = 180.0  # seconds; a long note on a busy machine takes some ten
#: What a browser needs to find its libraries and fonts; whatever else is set here may be a key.
_ENVIRONMENT = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "FONTCONFIG_PATH", "FONTCONFIG_FILE")
_FLAGS = (
    "--headless",
    "--disable-gpu",
    "--disable-dev-shm-usage",  # a container's is 64 MB
    "--no-first-run",
    "--disable-extensions",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-breakpad",
    # Nothing is asked for: should a later Chromium ask by itself, no name resolves, and no proxy of the user's is taken.
    "--host-resolver-rules=MAP * ~NOTFOUND",
    "--no-proxy-server",
    "--no-pdf-header-footer",
)


class CannotPrint(UsageError):
    """No browser here can print the note; the message names another way."""


def find_chromium(environ: Mapping[str, str]) -> str | None:
    """Find the program that prints on the PATH, as the tests do; None if there is none."""
    return next(filter(None, (shutil.which(name, path=environ.get("PATH")) for name in _NAMES)), None)


def print_pdf(html: str, environ: Mapping[str, str]) -> bytes:
    """Print an HTML page of ours as PDF.

    Raises ``CannotPrint`` without a Chromium, or where it does not come up.
    """
    program = find_chromium(environ)
    if program is None:
        raise CannotPrint(
            "no Chromium is installed here to make a PDF: export with ",
            Option("to", "html"),
            ", open the HTML and print it (or install chromium)",
        )
    with tempfile.TemporaryDirectory(prefix="note-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        page, target = folder / "note.html", folder / "note.pdf"
        page.write_text(html, encoding="utf-8", errors="replace")
        stderr = ""
        for user, more in _ways():
            if user is not None:
                for path in (folder, page):
                    os.chown(path, user, user)
            stderr = _run(program, more, page, target, environ, user)
            if target.is_file() and (data := target.read_bytes()).startswith(b"%PDF-"):
                return data
    last = next(iter(stderr.strip().splitlines()[-1:]), "it said nothing")
    raise CannotPrint(
        f"{program} made no PDF ({last:.160}): export with ",
        Option("to", "html"),
        ", open the HTML and print it",
    )


def _ways() -> tuple[tuple[int | None, tuple[str, ...]], ...]:
    """List the ways to start the browser, the safest first: a user to start it as (None: this one), and flags.

    Chromium refuses its own sandbox to root, so root starts it as nobody. Where user namespaces are forbidden (many
    containers) it does not come up at all: then without the sandbox, which would hold back code that broke out of the page,
    and this page has neither code nor a picture that a stranger encoded.
    """
    open_way = ("--no-sandbox",)
    if os.geteuid() != 0:
        return (None, ()), (None, open_way)
    # The last one for a temporary folder that nobody cannot reach.
    return (_NOBODY, ()), (_NOBODY, open_way), (None, open_way)


def _run(
    program: str,
    more: tuple[str, ...],
    page: Path,
    target: Path,
    environ: Mapping[str, str],
    user: int | None,
) -> str:
    """Run the browser once and return its error output; its whole process group ends with this call."""
    home = str(page.parent)
    words = [
        program,
        *_FLAGS,
        *more,
        f"--user-data-dir={home}/profile",
        f"--print-to-pdf={target}",
        page.as_uri(),
    ]
    try:
        process = subprocess.Popen(
            words,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            cwd=home,
            env={
                **{key: environ[key] for key in _ENVIRONMENT if key in environ},
                "HOME": home,
                "TMPDIR": home,
            },
            start_new_session=True,
            user=user,
            group=user,
            extra_groups=None if user is None else (),
        )
    except OSError as error:  # nobody may not be allowed to run it, or to stand in the folder
        return str(error)
    try:
        _, stderr = process.communicate(timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        return f"it did not end within {_PATIENCE:g} s"
    finally:
        # The crash handler and zygotes are children of its session; the group outlives a killed first process.
        with contextlib.suppress(ProcessLookupError):  # all have ended already
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stderr is not None:
            process.stderr.close()
    return stderr.decode("utf-8", "replace")
