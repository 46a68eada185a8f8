"""The command of ``review --notify``: looked at before anything is bought, and run with the result on its stdin."""

import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from proxies.secret_registry import is_key_name
from workbench.errors import UsageError
from workbench.terminal import json_text

_SECONDS = 60
_STDERR = 2


def notify_command(words: str) -> list[str]:
    """Return a person's command as program and arguments, read without a shell.

    ``review`` calls this before it opens a run: a command that cannot be run is no news to be found out after evidence was paid for.

    Raises
    ------
    UsageError
        No program is named, a quote stays open, or there is no such program.
    """
    try:
        parts = shlex.split(words)
    except ValueError as error:
        raise UsageError(f"--notify cannot be read as a command: {error}") from None
    if not parts:
        raise UsageError("--notify names no command")
    try:
        program = shutil.which(parts[0])
    except ValueError:  # a NUL, which a settings file may hold
        program = None
    if program is None or any("\0" in part for part in parts):
        raise UsageError(f"--notify {parts[0]!r:.80} is no program that can be run here")
    return parts


def notify(
    parts: list[str],
    document: dict[str, Any],
    environ: Mapping[str, str],
    say: Callable[[str], None],
) -> bool:
    """Run a command with a document as JSON on its stdin; return whether it took it (exit code 0), and say where it did not.

    The document has passed the registry of secrets, and no key is in the command's environment. One that takes longer than a
    minute is ended with all that it started; no message repeats its arguments, which may hold a token. What it prints goes to our
    stderr: our stdout is a document of its own.
    """
    failure = _failure(
        parts, document, {name: value for name, value in environ.items() if not is_key_name(name)}
    )
    if failure:
        say(f"workbench: --notify {failure}; a claim that moved is told again by the next review")
    return not failure


def _failure(parts: list[str], document: dict[str, Any], environ: Mapping[str, str]) -> str:
    try:
        process = subprocess.Popen(
            parts, stdin=subprocess.PIPE, stdout=_STDERR, env=environ, start_new_session=True
        )
    except OSError as error:
        return f"could not be run: {error.strerror}"
    try:
        process.communicate(json_text(document).encode(), timeout=_SECONDS)
    except BaseException as error:
        # Its children too: a shell that waits for a receiver that hangs would leave it behind, one more at each review.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert process.stdin is not None, "it is a pipe"
        process.stdin.close()
        if not isinstance(error, subprocess.TimeoutExpired):
            raise
        return f"took longer than {_SECONDS} s and was ended"
    return f"ended with exit code {process.returncode}" if process.returncode else ""
