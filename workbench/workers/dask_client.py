"""The one process of an owner that is a Dask client: sealed, without a key, a home or a network of its own.

Dask unpickles what schedulers and workers send, so what they send may run here, and finds nothing. Orders come down one pipe
and words go up another, a JSON line each; connections to the one scheduler are handed in by the owner as they are needed.
`ClusterLink` is the other side.
"""

import asyncio
import json
import os
import socket
import ssl
from typing import Any

from workbench.workers import cluster_tasks
from workbench.workers.outbox import MAX_MESSAGE, Outbox

#: A line of the owner's: a message of that size in base64, and what stands around it.
MAX_LINE = MAX_MESSAGE + 1_000_000
#: Seconds for a worker to say what it is; its first imports take long where the machine is busy.
_ASK = 120.0


def prepare(options: dict[str, Any]) -> tuple[dict[str, Any], ssl.SSLContext]:
    """Read the certificates, while files can be read."""
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=options["authority"])
    context.check_hostname = (
        False  # as Dask has it: a certificate of the authority is a member, whatever its address
    )
    context.load_cert_chain(options["certificate"], options["key"])
    return options, context


def run(prepared: tuple[dict[str, Any], ssl.SSLContext]) -> None:
    """Serve the owner until its pipe ends; called behind the seal."""
    options, context = prepared
    # An answer of Dask's logging would go where the owner's words go.
    asyncio.run(_Service(options, context).serve())


class _Service:
    """Carries out the owner's orders; each has a number, under which its answer goes back."""

    def __init__(self, options: dict[str, Any], context: ssl.SSLContext) -> None:
        self._options = options
        self._context = context
        self._up = os.fdopen(options["up"], "wb", buffering=0)
        self._connections = socket.socket(fileno=options["connections"])
        self._connecting = asyncio.Lock()
        self._client: Any = None
        self._outboxes: dict[str, Outbox] = {}
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._words: asyncio.Queue[bytes] = asyncio.Queue()

    async def serve(self) -> None:
        writing = asyncio.ensure_future(self._write())
        try:
            self._client = await self._connect()
        except Exception as error:
            self._say_gone(error)
            await self._words.join()
            return
        self._say({"ready": True})
        reading = asyncio.ensure_future(self._read_inbox())
        orders = asyncio.StreamReader(limit=MAX_LINE)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(orders), os.fdopen(self._options["down"], "rb")
        )
        while line := await orders.readline():
            order = json.loads(line)
            if order["do"] == "release":
                task = self._tasks.get(order["task"])
                if task is not None:
                    task.cancel()
                continue
            self._tasks[order["n"]] = asyncio.ensure_future(self._carry_out(order))
        for task in (reading, writing, *self._tasks.values()):
            task.cancel()
        os._exit(
            0
        )  # what Dask has open ends with the process; its own goodbye may wait for a scheduler that lies

    async def _connect(self) -> Any:
        # behind the seal alone: the owner imports this file for its names and no Dask
        from distributed import Client, Security
        from distributed.comm import registry
        from distributed.comm.tcp import MAX_BUFFER_SIZE, TLS, TLSBackend, TLSConnector
        from tornado.iostream import IOStream  # what Dask is made of

        service = self

        class Connector(TLSConnector):  # type: ignore[misc]  # Dask is typed in part
            async def connect(self, address: str, deserialize: bool = True, **arguments: Any) -> Any:
                stream = IOStream(await service._connection(), max_buffer_size=MAX_BUFFER_SIZE)
                secured = await stream.start_tls(False, ssl_options=service._context)
                return TLS(secured, "tls://127.0.0.1:0", self.prefix + address, deserialize)

        class Connections(TLSBackend):  # type: ignore[misc]
            _connector_class = Connector

        registry.backends["tls"] = Connections()
        return await Client(
            self._options["address"],
            asynchronous=True,
            security=Security(require_encryption=True),
            timeout=self._options["timeout"],
            set_as_default=False,
            direct_to_workers=False,
        )

    async def _connection(self) -> socket.socket:
        """Return another connection to the scheduler, which the owner makes."""
        async with self._connecting:
            return await asyncio.to_thread(self._next_connection)

    def _next_connection(self) -> socket.socket:
        self._connections.sendall(b"c")
        word, descriptors, _, _ = socket.recv_fds(self._connections, 1, 1)
        if word != b"y" or not descriptors:
            raise OSError("the owner could not reach the scheduler")
        connection = socket.socket(fileno=descriptors[0])
        connection.setblocking(False)
        return connection

    async def _carry_out(self, order: dict[str, Any]) -> None:
        number = order["n"]
        try:
            answer = await getattr(self, f"_do_{order['do']}")(order)
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):
                raise
            self._say({"n": number, "error": [type(error).__name__, str(error)[:1000]]})
        else:
            self._say({"n": number, "answer": answer})
        finally:
            del self._tasks[number]

    async def _do_members(self, order: dict[str, Any]) -> Any:
        identity = await self._client.scheduler.identity(n_workers=-1)
        return {str(name): int(worker["nthreads"]) for name, worker in identity["workers"].items()}

    async def _do_describe(self, order: dict[str, Any]) -> Any:
        return await self._ask(
            order["workers"],
            cluster_tasks.describe,
            order["settings"],
            seal=order["seal"],
            neighbours=order["neighbours"],
        )

    async def _do_clocks(self, order: dict[str, Any]) -> Any:
        return await self._ask(order["workers"], cluster_tasks.clock)

    async def _ask(self, workers: list[str], function: Any, *arguments: Any, **named: Any) -> Any:
        async def ask_one(worker: str) -> dict[str, Any]:
            # One by one: what cannot be unpickled fails the whole call, and every honest worker with it.
            try:
                async with asyncio.timeout(
                    _ASK
                ):  # one that is stopped, or lies, holds the others up no longer
                    answers = await self._client.run(function, *arguments, workers=[worker], **named)
                return {"said": json.loads(json.dumps(answers[worker]))}
            except Exception as error:
                return {"failed": f"{type(error).__name__}: {error!s:.200}"}

        answers = await asyncio.gather(*(ask_one(worker) for worker in workers))
        return dict(zip(workers, answers, strict=True))

    async def _do_perform(self, order: dict[str, Any]) -> Any:
        future = self._client.submit(
            cluster_tasks.perform,
            json.dumps(order["order"]).encode(),
            key=order["key"],
            workers=order["workers"],
            pure=False,
        )
        try:
            return str(await future)[:300]
        finally:
            future.release()

    async def _do_send(self, order: dict[str, Any]) -> Any:
        from distributed import Queue

        name = order["inbox"]
        if name not in self._outboxes:
            self._outboxes[name] = Outbox(await Queue(name, client=self._client))
        await self._outboxes[name].put("", order["message"].encode())
        return None

    async def _read_inbox(self) -> None:
        from distributed import Queue

        try:
            inbox = await Queue(self._options["inbox"], client=self._client)
            while True:
                for lease, message in await inbox.get():
                    if len(message) > MAX_MESSAGE or b"\n" in message:
                        self._say({"refused": str(lease)[:100], "size": len(message)})
                    else:  # not read here: it is the owner's to judge
                        self._words.put_nowait(b'{"message":' + bytes(message) + b"}\n")
        except Exception as error:
            self._say_gone(error)

    def _say_gone(self, error: BaseException) -> None:
        text = f"{type(error).__name__}: {error}"[:250]
        self._say({"gone": "".join(each if each.isascii() and each.isprintable() else " " for each in text)})

    def _say(self, word: dict[str, Any]) -> None:
        try:
            line = json.dumps(word).encode()
        except (TypeError, ValueError):  # what a worker said is no plain value
            line = json.dumps({"n": word.get("n", 0), "error": ["TypeError", "no plain value"]}).encode()
        self._words.put_nowait(line + b"\n")

    async def _write(self) -> None:
        while True:
            words = [await self._words.get()]
            while not self._words.empty():
                words.append(self._words.get_nowait())
            await asyncio.to_thread(self._write_all, b"".join(words)) if len(
                words[0]
            ) > 60_000 else self._write_all(b"".join(words))
            for _ in words:
                self._words.task_done()

    def _write_all(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[self._up.write(rest) :]
