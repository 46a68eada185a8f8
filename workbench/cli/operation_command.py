"""A command out of an operation: its options, the run, the document for a person or as JSON, the exit code."""

import asyncio
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from proxies.errors import ProxyError
from proxies.remedies import Command, Option, Remedied, shell_terms
from workbench.cli.common import (
    agrees,
    at_end,
    at_terminal,
    can_answer,
    choose,
    command,
    confirm,
    echo,
    emit_json,
    one_line,
    progress_bar,
    say,
)
from workbench.cli.request_options import options_of
from workbench.cli.signals import stop_signals
from workbench.cli.table import show_fields, show_table
from workbench.errors import PROVIDER, STOPPED, USAGE, UsageError
from workbench.expected_errors import EXPECTED, exit_code
from workbench.operations.base import Home, Operation
from workbench.operations.blocks import Block, Csv, Drawing, Facts, Json, Raw, Remark, Table, blocks_of
from workbench.operations.run_document import RunDocument
from workbench.requests import fields_of
from workbench.spreadsheet import csv_text
from workbench.store import Store
from workbench.terminal import printable

if TYPE_CHECKING:
    from workbench.engine.record.recorder import Listener
    from workbench.engine.record.state import RunState
    from workbench.store import StoredEvent


def command_of(operation: type[Operation]) -> Callable[..., None]:
    """Return the function that typer makes the command from; its signature has an option for each field of the request."""

    @command
    def run(ctx: typer.Context, **words: Any) -> None:
        if ctx.invoked_subcommand is not None:  # a group's own operation: one of its commands was asked for
            return
        as_json, yes = "--json" in ctx.meta, "--yes" in ctx.meta
        if "yes" in operation.model_fields:  # an approval's yes is its answer
            words["yes"] = yes
        home = Home.of(
            os.environ,
            say=say,
            confirm=lambda question: confirm(question, yes=yes),
            agrees=lambda question: yes or agrees(question),
            progress=progress_bar,
            run_progress=_run_progress,
            choose=lambda question, choices: None if yes else choose(question, choices),
            in_folder=Path.cwd(),
            answered=can_answer(),
            as_json=as_json,
            yes=yes,
        )
        at_end(home.close)
        request: Operation | None = None
        try:
            request = operation.typed(ctx.meta.get("--set", ()), **words)
            document = asyncio.run(_answered(request, home)) if request.waits() else request.answer(home)
        except (KeyboardInterrupt, asyncio.CancelledError):
            goes_on = _goes_on(home, request, as_json=as_json)
            if not goes_on:
                raise KeyboardInterrupt from None
            say(f"workbench: stopped by hand; {goes_on}")
            raise typer.Exit(STOPPED) from None
        except EXPECTED as error:
            if isinstance(error, Remedied):
                error.terms = partial(_terms, operation)
            _print_refusal(operation, error, as_json=as_json)
            if exit_code(error) not in (STOPPED, PROVIDER) or not (
                goes_on := _goes_on(home, request, as_json=as_json)
            ):
                raise
            # Some messages say themselves how to go on.
            say(f"workbench: {one_line(error)}{'' if 'resume' in str(error) else f' ({goes_on})'}")
            raise typer.Exit(exit_code(error)) from None
        blocks = request.show(document)
        if as_json:
            emit_json(document)
            blocks = (block for block in blocks if isinstance(block, Remark))
        show_blocks(blocks)
        if code := request.exit_code(document):
            raise typer.Exit(code)

    context = inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context)
    parameters = [context, *options_of(operation).values()]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__doc__ = operation.__doc__
    return run


def _terms(operation: type[Operation], remedy: Command | Option) -> str:
    """Write a remedy for a shell: an option that this command lacks goes by ``--set``."""
    by_set = {each.name for each in fields_of(operation) if each.says.by_set}
    if isinstance(remedy, Option) and remedy.name in by_set:
        remedy = replace(remedy, by_set=True)
    return shell_terms(remedy)


async def _answered(request: Operation, home: Home) -> Any:
    task = asyncio.current_task()
    assert task is not None
    # A signal cancels the work instead of raising in the middle of it: kernels end on the way out.
    for number in stop_signals():
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    async with home:
        return await request.answer(home)


def _goes_on(home: Home, request: Operation | None, *, as_json: bool) -> str:
    """Say how to go on with what was stopped; the document of a run as far as it has come is a result."""
    if home.run and as_json:
        emit_json(RunDocument.of(home.store, home.state(home.run)))
    again = f"workbench resume {home.run}" if home.run else request.goes_on() if request else ""
    return again and f"`{again}` goes on"


@contextmanager
def _run_progress(store: Store, *, asks: bool = False) -> "Iterator[Listener]":
    # it folds logs: only those who follow a run load it
    from workbench.cli.run.terminal_progress import shown_progress

    with shown_progress(store, asks=asks) as show:
        if not (asks and at_terminal()):
            yield show
            return
        from workbench.cli.run.terminal_answers import TerminalAnswers

        answers = TerminalAnswers(store)
        asking = asyncio.get_running_loop().create_task(answers.work())

        def listener(state: "RunState", stored: "StoredEvent") -> None:
            show(state, stored)
            answers.listen(state, stored)

        try:
            yield listener
        finally:
            asking.cancel()


def _print_refusal(operation: type[Operation], error: Exception, *, as_json: bool) -> None:
    """Print what a program may want to read of a refusal: it is an answer, so it is a document on stdout as well as a line."""
    document = getattr(error, "document", None)
    if operation.refusal_is_answer and isinstance(error, ProxyError | UsageError):
        if not as_json:
            show_blocks(blocks_of(document or {}))
        document = {"refused" if exit_code(error) == USAGE else "failed": one_line(error), **(document or {})}
    if as_json and document is not None:
        emit_json(document)
    elif not as_json and hasattr(error, "lines"):
        show_blocks(error.lines())


def show_blocks(blocks: Any) -> None:
    """Print blocks: remarks on stderr, the rest on stdout, an empty line around each table."""
    before: Block | None = None
    for block in blocks:
        if not isinstance(block, Remark):
            if before is not None and (not isinstance(block, str) or not isinstance(before, str)):
                echo("")
            before = block
        match block:
            case str():
                echo(block)
            case Remark():
                say(block.text)
            case Drawing():
                echo("\n".join(block.lines), whole=True)
            case Table():
                show_table(block.header, block.rows)
            case Facts():
                show_fields(block.pairs)
            case Json():
                emit_json(block.value)
            case Raw() if sys.stdout.isatty():
                try:
                    echo(block.data.decode(), whole=True)
                except UnicodeDecodeError:
                    raise UsageError(
                        "this output cannot be shown in a terminal: name a file with -o"
                    ) from None
            case Raw():
                sys.stdout.buffer.write(block.data)
                sys.stdout.flush()
            case Csv():
                text = csv_text(block.header, block.rows)
                sys.stdout.write(printable(text) if sys.stdout.isatty() else text)
