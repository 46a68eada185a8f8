"""Our connection to one kernel: sends cells, collects their outputs. The kernel is hostile: junk is passed over.

`jupyter_client`'s own client would do the same with a thread per channel and a poll of 100 ms; ours waits for events.
"""

import asyncio
import contextlib
import json
import logging
from dataclasses import dataclass, field
from typing import Any

import zmq
import zmq.asyncio
from jupyter_client.session import Session as Messages

from sandbox.errors import KernelStartFailed
from sandbox.kernels.outputs import output_from_message

_log = logging.getLogger(__name__)
_MAX_MESSAGE = 64 << 20
_OUTPUT_GRACE = 2.0  # seconds to wait for the last output after the reply
_REPLY_GRACE = 0.5  # seconds after which an interrupted kernel that is idle is not expected to reply
# Seconds without a greeting until we subscribe once more. ipykernel 7.4 loses the greeting of a subscription that comes
# at the very moment of an output (none lost in 200 starts); asking again is harmless.
_RESUBSCRIBE_AFTER = 0.25
_OUTPUT_KINDS = frozenset({"stream", "display_data", "execute_result", "error"})


@dataclass(slots=True)
class CellRun:
    """A running cell and its outputs so far.

    Attributes
    ----------
    request : message id of the request
    max_shown : characters of output that are shown; an error is always shown
    max_cut : characters of the output beyond that which `cut` still holds, for the journal
    outputs : nbformat outputs in order
    shown, dropped, lost : characters in `outputs`, beyond it, and beyond `cut` too
    began, idle, replied : set by the kernel's messages in this order
    """

    request: str
    max_shown: int
    max_cut: int = 0
    outputs: list[dict[str, Any]] = field(default_factory=list)
    displays: dict[str, int] = field(default_factory=dict)
    reply: dict[str, Any] | None = None
    shown: int = 0
    dropped: int = 0
    cut: list[dict[str, Any]] = field(default_factory=list)
    lost: int = 0
    clear_next: bool = False
    interrupted: bool = False
    began: asyncio.Event = field(default_factory=asyncio.Event)
    idle: asyncio.Event = field(default_factory=asyncio.Event)
    replied: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, kind: str, content: dict[str, Any]) -> None:
        """Add one message of the output channel."""
        if kind == "clear_output":
            self.clear_next = True
            if not content.get("wait"):
                self._clear()
            return
        display = (content.get("transient") or {}).get("display_id")
        if kind == "update_display_data" and display in self.displays:
            output = output_from_message("display_data", content)
            if output is not None and self._show(output):
                self.outputs[self.displays[display]] = output
            return
        output = output_from_message(kind, content) if kind in _OUTPUT_KINDS else None
        if output is None:
            return
        if self.clear_next:
            self._clear()
        if not self._show(output):
            return
        last = self.outputs[-1] if self.outputs else {}
        if kind == "stream" and last.get("output_type") == "stream" and last["name"] == output["name"]:
            last["text"] += output["text"]
            return
        if isinstance(display, str):
            self.displays[display] = len(self.outputs)
        self.outputs.append(output)

    def _clear(self) -> None:
        self.outputs.clear()
        self.displays.clear()
        self.clear_next = False

    def _show(self, output: dict[str, Any]) -> bool:
        """Whether the output is shown; one that is too long is cut to what fits."""
        size = len(output.get("text", "")) + sum(map(len, output.get("traceback", ())))
        size += sum(
            len(value) if isinstance(value, str) else 1000 for value in output.get("data", {}).values()
        )
        if self.shown + size <= self.max_shown:
            self.shown += size
            return True
        room = self.max_shown - self.shown
        if output["output_type"] == "stream" and room > 0:
            self._cut_off({**output, "text": output["text"][room:]}, size - room)
            output["text"] = output["text"][:room]
            self.shown = self.max_shown
            return True
        self._cut_off(output, size)
        return bool(output["output_type"] == "error")

    def _cut_off(self, output: dict[str, Any], size: int) -> None:
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

    def __init__(self, connection: dict[str, Any]) -> None:
        context = zmq.asyncio.Context.instance()
        self._messages = Messages(
            key=connection["key"].encode(), signature_scheme=connection["signature_scheme"], check_pid=False
        )
        self._shell = self._socket(context, zmq.DEALER, connection, "shell")
        self._iopub = self._socket(context, zmq.SUB, connection, "iopub")
        self._iopub.setsockopt(zmq.SUBSCRIBE, b"")
        self._welcome = asyncio.Event()
        self._run: CellRun | None = None
        self._tasks = [
            asyncio.create_task(self._receive(self._shell, self._on_shell), name="kernel-shell"),
            asyncio.create_task(self._receive(self._iopub, self._on_iopub), name="kernel-iopub"),
        ]

    @staticmethod
    def _socket(
        context: zmq.asyncio.Context, kind: int, connection: dict[str, Any], channel: str
    ) -> zmq.asyncio.Socket:
        socket = context.socket(kind)
        socket.linger = 0
        socket.setsockopt(zmq.MAXMSGSIZE, _MAX_MESSAGE)
        if kind == zmq.SUB:
            socket.setsockopt(zmq.RCVHWM, 10_000)
        socket.connect(f"ipc://{connection['ip']}-{connection[f'{channel}_port']}")
        return socket

    async def connect(self, timeout: float) -> None:
        """Wait until outputs will reach us. Raises `KernelStartFailed`.

        A subscription of ZMQ takes effect some time after it was made; what is sent before is lost. ipykernel greets
        each subscriber, and with that greeting we know.
        """
        loop = asyncio.get_running_loop()
        end = loop.time() + timeout
        while loop.time() < end:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._welcome.wait(), _RESUBSCRIBE_AFTER)
                return
            self._iopub.setsockopt(zmq.UNSUBSCRIBE, b"")
            self._iopub.setsockopt(zmq.SUBSCRIBE, b"")
        raise KernelStartFailed(f"the kernel did not answer in {timeout:g} s")

    async def warm_up(self, timeout: float) -> None:
        """Run an empty cell that leaves no trace: the pages and code paths that a first cell needs are there then.

        Raises `KernelStartFailed` when it does not end in time.
        """
        try:
            await asyncio.wait_for(self.finish(self.start("pass", max_shown=0, silent=True)), timeout)
        except TimeoutError:
            raise KernelStartFailed(f"the kernel did not run an empty cell in {timeout:g} s") from None

    def start(self, source: str, *, max_shown: int, max_cut: int = 0, silent: bool = False) -> CellRun:
        """Send a cell; `finish` waits for its end. A silent one is not counted."""
        content = {
            "code": source,
            "silent": silent,
            "store_history": not silent,
            "user_expressions": {},
            "allow_stdin": False,
            "stop_on_error": True,
        }
        message = self._messages.msg("execute_request", content)
        self._run = CellRun(request=message["header"]["msg_id"], max_shown=max_shown, max_cut=max_cut)
        self._messages.send(self._shell, message)
        return self._run

    async def finish(self, run: CellRun) -> None:
        """Wait for the cell's reply and its last output."""
        while not run.replied.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(run.replied.wait(), _REPLY_GRACE)
            if run.interrupted and run.idle.is_set() and not run.replied.is_set():
                # the interrupt met ipykernel before or after the cell's own code: then there is never a reply
                run.reply = {"status": "error", "ename": "KeyboardInterrupt", "evalue": ""}
                run.replied.set()
        with contextlib.suppress(TimeoutError):  # an output flood may have cost us the last message
            await asyncio.wait_for(run.idle.wait(), _OUTPUT_GRACE)

    async def close(self) -> None:
        """Stop listening."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._shell.close()
        self._iopub.close()

    async def _receive(self, socket: zmq.asyncio.Socket, handle: Any) -> None:
        while True:
            frames = await socket.recv_multipart()
            try:
                _, parts = self._messages.feed_identities(frames)
                message = self._messages.deserialize(parts)
                kind, parent = message["header"]["msg_type"], message["parent_header"].get("msg_id")
                content = message["content"]
            except (ValueError, KeyError, TypeError, AttributeError, json.JSONDecodeError):
                continue  # no message of ours: wrong signature, no JSON, missing parts
            if not isinstance(content, dict):
                continue
            try:
                handle(kind, parent, content)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                # parts of other types than the protocol's; receiving must go on, what follows is shown
                _log.warning("a kernel sent a message %r that cannot be read: %r", kind, error)

    def _on_shell(self, kind: str, parent: str | None, content: dict[str, Any]) -> None:
        run = self._run
        if run is not None and kind == "execute_reply" and parent == run.request:
            run.reply = content
            run.replied.set()

    def _on_iopub(self, kind: str, parent: str | None, content: dict[str, Any]) -> None:
        if kind == "iopub_welcome":
            self._welcome.set()
            return
        run = self._run
        if run is None or parent != run.request:
            return
        if kind == "status":
            if content.get("execution_state") == "idle":
                run.idle.set()
            return
        if kind == "execute_input":
            run.began.set()
        run.add(kind, content)
