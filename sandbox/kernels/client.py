"""Send cells to one kernel and collect their outputs. The kernel is hostile: junk is ignored.

`jupyter_client`'s own client would do the same with a thread per channel and a poll of 100 ms; ours waits for events,
and holds no more of what the kernel sends than `CellRun.room`.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from jupyter_client.session import Session as Messages

from proxies.json_text import Row
from sandbox.errors import KernelStartFailed
from sandbox.kernels.channel import Channel, ChannelEnded
from sandbox.kernels.decode import Decoded, claimed_request, decode_message
from sandbox.kernels.outputs import left_out, output_from_message, output_size

_log = logging.getLogger(__name__)
_MAX_MESSAGE = 10 << 20  # bytes of one message that is decoded
_MIN_MESSAGE = 16 << 10  # bytes of a message that is read whatever was used up: the states of a cell are such
_MAX_OUTPUTS = 1000  # of one cell
#: Bytes on the wire of one cell beyond its output: headers, and what is cleared and replaced.
_OVERHEAD = 16 << 20
_ERROR_HEAD = 10_000  # characters of each part of an error that is shown although nothing more fits
LOOK = 0.25  # seconds between two looks at whether the output channel still delivers, after the reply
# So many looks in a row without anything new, and the end of the output is not to come. Looks and not seconds: while the
# loop itself stands still, what has come is not read, and no look happens either.
QUIET_LOOKS = 40
_REPLY_GRACE = 0.5  # seconds after which an interrupted kernel that is idle is not expected to reply
# Seconds without a greeting until we subscribe once more. ipykernel 7.4 loses the greeting of a subscription that comes
# at the very moment of an output (none lost in 200 starts); asking again is harmless.
_RESUBSCRIBE_AFTER = 0.25
_SUBSCRIBE, _UNSUBSCRIBE = b"\1", b"\0"
_REPLY_TEXT = 20_000  # characters of the reply's texts; the error among the outputs has them whole
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,60}")
_MAX_NAMES = 10  # that one cell replaced
_OUTPUT_KINDS = frozenset({"stream", "display_data", "execute_result", "error"})


@dataclass(slots=True)
class CellRun:
    """A running cell and its outputs so far."""

    request: str
    max_shown: int
    max_cut: int = 0
    outputs: list[Row] = field(default_factory=list)
    displays: dict[str, int] = field(default_factory=dict)
    reply: Row | None = None
    shown: int = 0
    dropped: int = 0
    cut: list[Row] = field(default_factory=list)
    lost: int = 0
    clear_next: bool = False
    interrupted: bool = False
    received: int = 0
    late_error: int | None = None
    ended: str = ""
    began: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    replied: asyncio.Event = field(default_factory=asyncio.Event)
    broken: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def room(self) -> int:
        """Most bytes that the next message may have."""
        unused = self.max_shown + self.max_cut + _OVERHEAD - self.received
        return max(_MIN_MESSAGE, min(_MAX_MESSAGE, unused))

    @property
    def flooded(self) -> bool:
        """Whether the kernel sent so much that its messages are read more slowly."""
        return self.received > self.max_shown + self.max_cut + _OVERHEAD

    def add(self, kind: str, content: Row) -> None:
        """Add one message of the output channel."""
        if kind == "clear_output":
            self.clear_next = True
            if not content.get("wait"):
                self._clear()
            return
        transient = content.get("transient")
        display = transient.get("display_id") if isinstance(transient, dict) else None
        if not isinstance(display, str):
            display = None
        if kind == "update_display_data" and display in self.displays:
            place = self.displays[display]
            update = output_from_message("display_data", content)
            output = update or left_out("an update that shows nothing")
            # the room of what it replaces is free again: a bar of progress costs no more than its last state
            self.shown -= output_size(self.outputs[place])
            if self._show(output):
                self.outputs[place] = output
            else:
                self.shown += output_size(self.outputs[place])
            return
        if kind not in _OUTPUT_KINDS:
            return
        converted = output_from_message(kind, content)
        # valid, and shows nothing: a note would claim that something was left out
        if converted is None and content.get("data") == {}:
            return
        output = converted or left_out(f"a {kind} that no notebook can hold")
        if self.clear_next:
            self._clear()
        if not self._show(output):
            return
        last = self.outputs[-1] if self.outputs else {}
        if output["output_type"] == "stream" and self._continues(last, output):
            last["text"] += output["text"]
            return
        if display is not None:
            self.displays[display] = len(self.outputs)
        self.outputs.append(output)

    def add_note(self, description: str) -> None:
        """Add a line in place of an output that is left out."""
        output = left_out(description)
        if self._show(output):
            self.outputs.append(output)

    def lose(self, size: int) -> None:
        """Count a message that was too long or unreadable."""
        self.dropped += size
        self.lost += size

    @staticmethod
    def _continues(last: Row, output: Row) -> bool:
        return last.get("output_type") == "stream" and last["name"] == output["name"]

    def _clear(self) -> None:
        self.outputs.clear()
        self.displays.clear()
        self.clear_next = False
        self.shown = 0
        self.late_error = None

    def _show(self, output: Row) -> bool:
        """Whether an output fits the limit; a stream that does not is cut, in place, to what fits."""
        size = output_size(output)
        kind = output["output_type"]
        last = self.outputs[-1] if self.outputs else {}
        counts = len(self.outputs) < _MAX_OUTPUTS or (kind == "stream" and self._continues(last, output))
        if counts and self.shown + size <= self.max_shown:
            self.shown += size
            return True
        room = self.max_shown - self.shown
        if counts and kind == "stream" and room > 0:
            self._cut_off({**output, "text": output["text"][room:]}, size - room)
            output["text"] = output["text"][:room]
            self.shown = self.max_shown
            return True
        self._cut_off(output, size)
        if kind == "error":
            self._show_error(output)
        return False

    def _show_error(self, output: Row) -> None:
        """Show the head of an error beyond the limit, only the last of several: it ended the cell."""
        head = {part: output[part][:_ERROR_HEAD] for part in ("ename", "evalue")}
        # the last ones: there is the place that raised, and then the error itself
        frames = [line[:_ERROR_HEAD] for line in output["traceback"][-20:]]
        head_only = {**output, **head, "traceback": frames}
        if self.late_error is None:
            self.late_error = len(self.outputs)
            self.outputs.append(head_only)
        else:
            self.outputs[self.late_error] = head_only

    def _cut_off(self, output: Row, size: int) -> None:
        self.dropped += size
        room = self.max_cut - (self.dropped - size - self.lost)
        if size > room:
            fitting = room if output["output_type"] == "stream" else 0
            self.lost += size - fitting
            if not fitting:
                return
            output = {**output, "text": output["text"][:fitting]}
        last = self.cut[-1] if self.cut else {}
        if output["output_type"] == "stream" and last.get("name") == output["name"]:
            last["text"] += output["text"]
        else:
            self.cut.append(dict(output))


class KernelClient:
    """A connection to one kernel. `connect` first; one cell at a time."""

    def __init__(self, connection: Row) -> None:
        self._key = connection["key"].encode()
        self._messages = Messages(
            key=self._key, signature_scheme=connection["signature_scheme"], check_pid=False
        )
        self._shell = self._channel(connection, "shell", "DEALER")
        self._iopub = self._channel(connection, "iopub", "SUB")
        self._ready = asyncio.Event()
        self._welcome = asyncio.Event()
        self._run: CellRun | None = None
        self._written: dict[str, Callable[[int], None]] = {}
        self._ended = ""
        self._open = 0
        self._tasks = [
            asyncio.create_task(self._receive(self._shell, self._on_shell), name="kernel-shell"),
            asyncio.create_task(self._receive(self._iopub, self._on_iopub), name="kernel-iopub"),
        ]

    @staticmethod
    def _channel(connection: Row, name: str, socket_type: str) -> Channel:
        return Channel(f"{connection['ip']}-{connection[f'{name}_port']}", socket_type)

    async def connect(self, timeout: float) -> None:
        """Wait until outputs will reach us. Raises `KernelStartFailed`.

        A subscription of ZMQ takes effect some time after it was made; what is sent before is lost. ipykernel greets
        each subscriber, and with that greeting we know.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while loop.time() < end and not self._ended:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ready.wait(), _RESUBSCRIBE_AFTER)
                await asyncio.wait_for(self._welcome.wait(), _RESUBSCRIBE_AFTER)
                return
            if self._ready.is_set():
                self._iopub.send([_UNSUBSCRIBE])
                self._iopub.send([_SUBSCRIBE])
        raise KernelStartFailed(self._ended or f"the kernel did not answer in {timeout:g} s")

    async def warm_up(self, timeout: float) -> None:
        """Run an empty, uncounted cell, so that the first real one finds pages and code paths loaded.

        Raises `KernelStartFailed` when it does not end in time.
        """
        try:
            run = self.start("pass", max_shown=0, silent=True)
            await asyncio.wait_for(self.finish(run), timeout)
        except TimeoutError:
            raise KernelStartFailed(f"the kernel did not run an empty cell in {timeout:g} s") from None
        if run.broken.is_set():
            raise KernelStartFailed(f"the kernel did not run an empty cell: {run.ended}")

    def start(self, source: str, *, max_shown: int, max_cut: int = 0, silent: bool = False) -> CellRun:
        """Send a cell; `finish` waits for its end. A silent cell does not raise the execution count."""
        content = {
            "code": source,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            # else `input()` waits for ever, as nobody reads the stdin channel; now it raises at once
            "allow_stdin": False,
            "stop_on_error": True,
        }
        message = self._messages.msg("execute_request", content)
        self._run = CellRun(request=message["header"]["msg_id"], max_shown=max_shown, max_cut=max_cut)
        if self._ended:
            self._break(self._ended)
        else:
            self._shell.send(self._messages.serialize(message))
        return self._run

    async def finish(self, run: CellRun) -> None:
        """Wait until the cell has replied and all its output came, or a channel ended (`CellRun.broken`).

        However much is still to be read: it would stand before the output of the next cell, which would then have none.
        The caller's own limits say how long that may take. Where the channel falls silent before the end, output was
        lost, and the run is broken.
        """
        while not (run.replied.is_set() or run.broken.is_set()):
            await _either(run.replied, run.broken, _REPLY_GRACE)
            if run.interrupted and run.idle.is_set() and not run.replied.is_set():
                # the interrupt met ipykernel before or after the cell's own code: then there is never a reply
                run.reply = {"status": "error", "ename": "KeyboardInterrupt", "evalue": ""}
                run.replied.set()
        quiet = 0
        while not (run.idle.is_set() or run.broken.is_set()):
            pieces = self._iopub.pieces
            await _either(run.idle, run.broken, LOOK)
            quiet = quiet + 1 if pieces is not None and pieces == self._iopub.pieces else 0
            if quiet == QUIET_LOOKS:
                self._break("the end of what a cell showed never came")

    def end(self, run: CellRun, late: Callable[[int], None]) -> None:
        """Close a run whose result is being written: its threads may go on printing."""
        self._written[run.request] = late

    async def close(self) -> None:
        """Stop listening."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._shell.close()
        await self._iopub.close()

    async def _receive(self, channel: Channel, handle: Callable[[Decoded], None]) -> None:
        try:
            await channel.open()
            if channel is self._iopub:
                channel.send([_SUBSCRIBE])
            self._open += 1
            if self._open == len(self._tasks):
                self._ready.set()
            while True:
                await self._receive_one(channel, handle)
        except ChannelEnded as error:
            self._break(str(error))
        except Exception:
            # A mistake of ours, whatever its type. Nobody awaits this task, so it is logged here, and the cell that runs
            # must not be "ok" without the outputs that nobody receives any more.
            _log.exception("the messages of a kernel are received no more")
            self._break("its messages could not be received")

    async def _receive_one(self, channel: Channel, handle: Callable[[Decoded], None]) -> None:
        run = self._run
        message = await channel.receive(_MIN_MESSAGE if run is None else run.room)
        decoded = None if message.cut else await decode_message(message.frames, self._key)
        run = self._run  # the one that is running now
        if run is not None:
            run.received += message.size
            channel.slow = run.flooded
        # None: not even its header could be held, so it counts against the cell that runs
        claimed = claimed_request(message.frames) if message.cut else None
        if claimed in self._written:
            self._written[claimed](message.size)
        elif message.cut and run is not None and claimed in (run.request, None):
            if channel is self._iopub:
                run.lose(message.size)
            else:
                self._reply(run, {"status": "error", "ename": "Error", "evalue": "its reply was too long"})
        if decoded is None:
            return  # no message of the kernel: wrong signature, missing parts
        try:
            handle(decoded)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # parts of other types than the protocol's; receiving must go on, what follows is shown
            _log.warning("a kernel sent a message %.100r that cannot be read: %r", decoded.kind, error)

    def _break(self, why: str) -> None:
        # the first reason is the cause: the kernel is ended for it, and then its channels end too
        self._ended = self._ended or why
        if self._run is not None:
            self._run.ended = self._ended
            self._run.broken.set()

    def _on_shell(self, message: Decoded) -> None:
        run = self._run
        if run is not None and message.kind == "execute_reply" and message.parent == run.request:
            self._reply(run, message.content or {"status": "error"})

    @staticmethod
    def _reply(run: CellRun, content: Row) -> None:
        texts = {name: str(content.get(name, "Error"))[:_REPLY_TEXT] for name in ("ename", "evalue")}
        listed = content.get("replaced")
        names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
        run.reply = {
            "status": content.get("status"),
            **texts,
            "replaced": tuple(dict.fromkeys(filter(_NAME.fullmatch, names)))[:_MAX_NAMES],
        }
        run.replied.set()

    def _on_iopub(self, message: Decoded) -> None:
        if message.kind == "iopub_welcome":
            self._welcome.set()
            return
        run = self._run
        if message.parent in self._written:
            if message.kind in _OUTPUT_KINDS:
                output = output_from_message(message.kind, message.content or {})
                self._written[message.parent](0 if output is None else output_size(output))
            return
        if run is None or message.parent != run.request:
            return
        content = message.content
        if content is None:
            run.add_note(f"a {message.kind[:40]} that cannot be read, or has too many values")
        elif message.kind == "status":
            if content.get("execution_state") == "idle":
                run.idle.set()
        else:
            if message.kind == "execute_input":
                run.began.set()
            run.add(message.kind, content)


async def _either(first: asyncio.Event, second: asyncio.Event, timeout: float) -> None:
    if first.is_set() or second.is_set():
        return
    waits = {asyncio.ensure_future(first.wait()), asyncio.ensure_future(second.wait())}
    try:
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
