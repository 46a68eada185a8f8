"""What a person can ask, written once: a request with ``answer`` and ``show``, from which every face is made.

request (from words, keywords or a form) -> ``answer(home)`` -> document (plain data) -> ``show`` -> blocks -> terminal, notebook, page

A document is a dict or a list as ``--json`` prints it; a ``TypedDict`` says what stands in it. `Home` is what a request works on:
the data folder, the environment, the broker, and the person, if one is there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self

from workbench.blocking import run_blocking
from workbench.environment import home_from, proxy_settings
from workbench.operations.blocks import Block, Remark, blocks_of
from workbench.requests import Request
from workbench.store import Store

if TYPE_CHECKING:
    from pathlib import Path

    from proxies.asof.clock import Cutoff
    from proxies.broker import Broker
    from proxies.vendors.own.own_manifest import Reader
    from workbench.engine.access.own_web import OwnWeb
    from workbench.engine.record.recorder import Listener
    from workbench.engine.record.state import RunState


def _nobody_chooses(question: str, choices: Mapping[str, str]) -> str | None:
    return None


@contextmanager
def _silent(noun: str) -> Iterator[Callable[[int, int], None]]:
    yield lambda done, count: None


def _to_nobody(text: str) -> None:
    """Leave a line out: this face shows the document alone."""


def _nobody_agrees(question: str) -> bool:
    return False


@contextmanager
def _unwatched(store: Store, *, asks: bool = False) -> Iterator[Listener]:
    yield lambda state, stored: None


@dataclass(kw_only=True)
class Home:
    """The data folder, environment and person of one call; `close` closes what it opened.

    Parameters
    ----------
    environ : mapping
        Where keys and upstreams are read from.
    folder : path
        The data folder.
    say : callable
        Shows a person a line before they decide.
    confirm : callable
        Asks a person whether to go on and does not return at a no; asks nothing where there is none.
    agrees : callable
        Whether a person says yes; False where nobody can be asked.
    choose : callable
        Asks which of some choices holds: value and meaning; None where nobody can be asked.
    progress : callable
        Opens a count of things: what it gives is told how many of how many are done.
    run_progress : callable
        Opens what shows a run's progress: a listener of its log, which also asks the person about steps that wait (``asks``).
    answered : bool
        Whether somebody can answer steps that wait.
    as_json : bool
        A program reads the document: nothing is added to it later.
    in_folder : path or None
        Where the person stands, whose ``workbench.toml`` counts below their own; None: no such file does.
    yes : bool
        Whether the person agreed beforehand to whatever would be asked.
    """

    environ: Mapping[str, str]
    folder: Path
    say: Callable[[str], None] = _to_nobody
    confirm: Callable[[str], None] = _to_nobody
    agrees: Callable[[str], bool] = _nobody_agrees
    choose: Callable[[str, Mapping[str, str]], str | None] = _nobody_chooses
    progress: Callable[[str], AbstractContextManager[Callable[[int, int], None]]] = _silent
    run_progress: Callable[..., AbstractContextManager[Any]] = _unwatched
    answered: bool = False
    as_json: bool = False
    in_folder: Path | None = None
    yes: bool = False
    #: The program at the other end is a language model: it gets no data that their owner shares with none.
    for_model: bool = False
    #: The run that is worked on, which can go on after a stop.
    run: str = field(default="", init=False)
    #: The document as it is when `confirm` is called, for a face that shows it beside the question.
    so_far: Any = field(default=None, init=False)
    #: Closed with the home: what an answer opened that is still read when it is shown.
    opened: ExitStack = field(default_factory=ExitStack, init=False)
    _brokers: dict[Reader, Broker] = field(default_factory=dict, init=False)
    _webs: dict[Any, OwnWeb] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, environ: Mapping[str, str], **person: Any) -> Home:
        """Return the home that the environment names."""
        return cls(environ=environ, folder=home_from(environ), **person)

    @cached_property
    def store(self) -> Store:
        """The log and the ledgers of the folder; opening it makes the folder."""
        return Store(self.folder)

    def broker(self, reader: Reader = "person") -> Broker:
        """Return the way to data as a person has it, or as a model of theirs has it; one each for all calls."""
        # not loaded by those who only read the log
        from proxies.broker import open_broker

        if self.for_model:
            reader = "model"
        if reader not in self._brokers:
            self._brokers[reader] = open_broker(proxy_settings(self.environ, self.folder, reader=reader))
        return self._brokers[reader]

    def web(self, cutoff: Cutoff, **asked: Any) -> OwnWeb:
        """Return the web at a cutoff (`open_own_web`); equal looks share one, so that no id is given twice."""
        from workbench.engine.access.own_web import open_own_web

        key = (cutoff, *sorted(asked.items()))
        if key not in self._webs:
            self._webs[key] = open_own_web(self.store, self.broker("model"), cutoff, **asked)
        return self._webs[key]

    def hush(self) -> None:
        """Say nothing and show no progress from now on."""
        self.say, self.run_progress = _to_nobody, _unwatched

    def state(self, run: str) -> RunState:
        """Return a run by its id, the beginning of one, or ``last``; raises ``UnknownRun``."""
        # only those that read a run load its fold
        from workbench.engine.record.fold import load_state

        return load_state(self.store, self.store.resolve_run(run))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the brokers, on the loop that they were used on."""
        while self._brokers:
            await self._brokers.popitem()[1].aclose()
        self._webs.clear()

    def close(self) -> None:
        """Close what was opened, the store last."""
        self.opened.close()
        if (store := self.__dict__.pop("store", None)) is not None:
            store.close()


class Operation(Request):
    """A request that answers with a document; its docstring is its help, its fields are its options.

    `answer` is a plain function, or a coroutine function where it waits for something.
    """

    #: What a language model reads of it as a tool of MCP; "": it is none.
    tool: ClassVar[str] = ""
    #: It adds to the log of a run.
    writes: ClassVar[bool] = False
    #: What is said where its document is an empty list.
    nothing: ClassVar[str] = ""
    #: In Python it is awaited: it takes minutes, and a task that is cancelled ends it.
    awaited: ClassVar[bool] = False
    #: Of its document: exit 2 and 4 print ``{"refused": ...}`` and ``{"failed": ...}`` with ``--json``.
    refusal_is_answer: ClassVar[bool] = False

    def answer(self, home: Home) -> Any:
        """Return the document; raises what the faces turn into one line (``workbench.errors``, ``proxies.errors``)."""
        raise NotImplementedError

    def show(self, document: Any) -> Iterable[Block]:
        """Return what a person reads of the document."""
        return blocks_of(document) if document or not self.nothing else [Remark(self.nothing)]

    def exit_code(self, document: Any) -> int:
        """Return the exit code that the document stands for."""
        return 0

    @classmethod
    def waits(cls) -> bool:
        """Whether `answer` is a coroutine function."""
        return inspect.iscoroutinefunction(cls.answer)

    @classmethod
    def more_help(cls) -> Sequence[str]:
        """Return paragraphs below the options in the command's help, looked up only when it is asked for."""
        return ()

    def goes_on(self) -> str:
        """Return the command with which work that was stopped goes on; "" where nothing is left of it."""
        return ""


def answered(request: Operation, home: Home) -> Any:
    """Run a request to its end from a plain call, also while an event loop runs the caller."""

    async def work() -> Any:
        async with home:
            return await request.answer(home)

    return run_blocking(work()) if request.waits() else request.answer(home)
