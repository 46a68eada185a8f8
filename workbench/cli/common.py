"""What every command shares: where results and messages go, and how an error becomes one line and an exit code."""

import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any, NoReturn, ParamSpec

import typer

from proxies.secret_registry import SECRETS
from workbench.cli.signals import drop_unread_output, signals_interrupt
from workbench.environment import home_from
from workbench.errors import BUG, STOPPED, WorkbenchError
from workbench.expected_errors import EXPECTED, exit_code
from workbench.store import Store
from workbench.terminal import LONGEST_LINE, brief_lines, json_for, json_text, printable

P = ParamSpec("P")

_opened: ContextVar[ExitStack] = ContextVar("what the running command has opened")


# Arguments and options that many commands have, spelt once.
def unlisted(*names: str, **how: Any) -> Any:
    """Return an option that the short help of a command leaves out; `workbench help COMMAND` says what it is."""
    return typer.Option(*names, hidden=True, **how)


IsolationLevel = Annotated[
    str | None,
    unlisted(
        help="Sandbox level: namespaces, landlock, none; without it the best sealed level that works here."
    ),
]


def run_names(incomplete: str) -> list[str]:
    """Return the run ids of this environment's home that begin so, and ``last``: what Tab offers; nothing where none can be read."""
    home = home_from(os.environ)
    if not (home / "workbench.db").is_file():  # Tab must not make a home
        return []
    try:
        store = Store(home)
    except WorkbenchError:
        return []
    try:
        names = [*reversed(store.run_ids()), "last"]
    except WorkbenchError:
        names = []
    finally:
        store.close()
    return [name for name in names if name.startswith(incomplete)]


def emit_json(value: Any) -> None:
    """Print one JSON document on stdout, and nothing else there."""
    sys.stdout.write(json_for(json_text(value, indent=True), sys.stdout.encoding) + "\n")
    sys.stdout.flush()


def echo(text: str, *, whole: bool = False) -> None:
    """Print lines of a result for the person on stdout; what a stranger wrote in them cannot steer the terminal.

    Lines of thousands of characters are cut, and a last line says so; not those of a ``whole`` document.
    """
    text = SECRETS.clean(text)
    sys.stdout.write((printable(text) if whole else brief_lines(printable(text))) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Print a message for the person on stderr."""
    sys.stderr.write(printable(SECRETS.clean(text)) + "\n")
    sys.stderr.flush()


def one_line(error: BaseException) -> str:
    """Return an error's message on one line that a person can read: a stranger's file may be quoted in it."""
    line = " ".join(str(error).split()) or type(error).__name__
    return line if len(line) <= LONGEST_LINE else f"{line[:LONGEST_LINE]}…"


def fail(error: BaseException) -> NoReturn:
    """Print an expected error, each of its mistakes as one line, and exit with its code; a bug of ours is raised with its traceback."""
    code = exit_code(error)
    if code == BUG:
        raise error
    for problem in getattr(error, "problems", ()) or [one_line(error)]:
        say(f"workbench: {problem}")
    raise typer.Exit(code)


@contextmanager
def expected_errors() -> Iterator[None]:
    """Turn the errors that are not our bugs into one line and their exit code."""
    try:
        yield
    except EXPECTED as error:
        fail(error)


def command(function: Callable[P, None]) -> Callable[P, None]:
    """Wrap a command so that its expected errors end in one line, and what it opened is closed."""

    @wraps(function)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> None:
        with expected_errors(), ExitStack() as stack:
            token = _opened.set(stack)
            try:
                function(*args, **kwargs)
            except BrokenPipeError:
                # Nobody is left whom a line could tell; a run that was in work has stopped with its own. Other pipes are ours.
                if not drop_unread_output():
                    raise
                raise typer.Exit(STOPPED) from None
            finally:
                _opened.reset(token)

    return wrapped


def confirm(question: str, *, yes: bool) -> None:
    """Ask a person at a terminal and leave with exit 3 at a no; ``--yes`` and a script, which would wait for ever, go on."""
    if not yes and at_terminal():
        with signals_interrupt():  # also while an event loop, which is held up by this, has the signals
            typer.confirm(question, abort=True, err=True)


def agrees(question: str) -> bool:
    """Ask a person at a terminal; whether they say yes, False without a terminal."""
    with signals_interrupt():
        return at_terminal() and typer.confirm(question, err=True)


def at_terminal() -> bool:
    """Whether a person sits at this process: both ends of a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def can_answer() -> bool:
    """Whether somebody can answer what a run of this process asks."""
    return os.environ.get("WORKBENCH_APPROVALS") == "log" or at_terminal()


def choose(question: str, choices: Mapping[str, str]) -> str | None:
    """Ask a person at a terminal which of some choices holds; None without a terminal."""
    if not at_terminal():
        return None
    say(question)
    for number, (choice, meaning) in enumerate(choices.items(), 1):
        say(f"{number}  {choice}{meaning and f': {meaning}'}")
    picked = 0
    with signals_interrupt():
        while not 1 <= picked <= len(choices):
            picked = typer.prompt("which", type=int, err=True)
    return list(choices)[picked - 1]


@contextmanager
def progress_bar(noun: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that shows how many of how many are done: a bar on a terminal, else a line each tenth, on stderr."""
    if not sys.stderr.isatty():
        shown = -1

        def line(done: int, count: int) -> None:
            nonlocal shown
            if count and (tenth := 10 * done // count) > shown:
                shown = tenth
                say(f"{done} of {count} {noun}")

        yield line
        return
    # a bar is for terminals only, and rich takes as long to load as a short command
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn(noun), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        task = bar.add_task(noun, total=None)
        yield lambda done, count: bar.update(task, completed=done, total=count)


def at_end(close: Callable[[], None]) -> None:
    """Call ``close`` when the running command ends, also if it ends by an error."""
    _opened.get().callback(close)


def leave_current_folder() -> None:
    """Go to the root folder, so that a server and its extensions find nothing of the folder that the user stands in.

    Jupyter's parts look into the current folder without being asked: Voila's extension runs ``voila.py`` there, the
    language server extension starts programs below ``node_modules``, Voila's page takes in ``custom/custom.css``.
    """
    os.chdir(os.sep)
