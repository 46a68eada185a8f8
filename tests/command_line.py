"""``workbench`` as a person runs it: in this process, which costs nothing to start, or in one of its own."""

import asyncio
import contextlib
import io
import json
import os
import subprocess
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def run_cli(home: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run ``workbench`` through its own ``main``, in a home of its own, without any key of this machine.

    What it prints, its exit code and its traceback, if it has one, are those of a process; the interpreter, what is
    imported, and the fork server of sealed kernels are shared with the tests before and after.
    """
    if _loop_runs():
        return run_process(home, *arguments, **environment)
    out, err = _Stream(), _Stream()
    with (
        _elsewhere(home, cli_environment(home, **environment), list(arguments)),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        code = _code_of_main()
    return subprocess.CompletedProcess(["workbench", *arguments], code, out.text(), err.text())


def _loop_runs() -> bool:
    """Whether this thread runs an event loop, as a browser's driver does: no command can have its own beside it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def run_ok(home: Path, *arguments: str, **environment: str) -> str:
    """What a command prints that has to succeed."""
    done = run_cli(home, *arguments, **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_json(home: Path, *arguments: str, **environment: str) -> Any:
    """The document of a command that has to succeed, which is given ``--json``."""
    return json.loads(run_ok(home, *arguments, "--json", **environment))


def run_process(
    home: Path, *arguments: str, timeout: float = 280, umask: int = -1, **environment: str
) -> subprocess.CompletedProcess[str]:
    """:func:`run_cli` in a process of its own, for what only a process shows; ``umask`` -1 is ours."""
    done = subprocess.run(
        [sys.executable, "-m", "workbench.cli.main", *arguments],
        env=cli_environment(home, **environment),
        cwd=home,
        capture_output=True,
        timeout=timeout,
        umask=umask,
    )
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def cli_environment(home: Path, **environment: str) -> dict[str, str]:
    """The environment of both."""
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "TMPDIR") if name in os.environ}
    # A record is measured beside a run by two more processes: only the tests of records want them.
    own = {"HOME": str(home), "WORKBENCH_HOME": str(home / "home"), "WORKBENCH_RECORD": "off"}
    return {**kept, **own, **environment}


class _Stream(io.TextIOWrapper):
    """A stream of a process: text over bytes, and no terminal."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="", write_through=True)

    def text(self) -> str:
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


@contextlib.contextmanager
def _elsewhere(home: Path, environment: dict[str, str], arguments: list[str]) -> Iterator[None]:
    variables, words, stdin = dict(os.environ), sys.argv, sys.stdin
    try:
        with contextlib.chdir(home):
            os.environ.clear()
            os.environ.update(environment)
            sys.argv, sys.stdin = ["workbench", *arguments], io.StringIO()
            yield
    finally:
        sys.argv, sys.stdin = words, stdin
        os.environ.clear()
        os.environ.update(variables)


def _code_of_main() -> int:
    """The exit code of ``main``, which is what Python makes of the exception that it ends with."""
    from workbench.cli.main import main  # not for those who only run a process

    try:
        main()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    except Exception:  # a bug of ours: its traceback is what the person would see
        traceback.print_exc()
        return 1
    return 0
