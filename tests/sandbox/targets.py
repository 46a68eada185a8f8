"""Dummy targets on this machine that an attack may reach, each with a way to see that it did."""

import contextlib
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_PATIENCE = 0.3


@dataclass
class Targets:
    """Where the targets are; `token` is what an attack sends or finds."""

    folder: Path
    token: str = field(default_factory=lambda: secrets.token_hex(12))
    tcp: int = 0
    udp: int = 0
    abstract: str = ""
    received: list[bytes] = field(default_factory=list)
    victim: int = 0

    @property
    def unix(self) -> Path:
        return self.folder / "host.sock"

    @property
    def secret_file(self) -> Path:
        return self.folder / "secret.txt"

    def heard(self) -> bool:
        """Whether the token came in on any of the sockets."""
        for _ in range(20):
            if any(self.token.encode() in message for message in self.received):
                return True
            threading.Event().wait(_PATIENCE / 20)
        return False


@contextlib.contextmanager
def targets(folder: Path) -> Iterator[Targets]:
    """Listen on tcp, udp, a path and an abstract unix socket; a secret file, a secret in the environment, a victim."""
    made = Targets(folder=folder)
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o755)
    made.secret_file.write_text(made.token)
    made.secret_file.chmod(0o644)
    os.environ["FAKE_PROVIDER_API_KEY"] = made.token
    made.abstract = f"target-{made.token}"
    tcp = socket.create_server(("127.0.0.1", 0))
    made.tcp = tcp.getsockname()[1]
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    made.udp = udp.getsockname()[1]
    streams = [tcp]
    for address in (str(made.unix), "\0" + made.abstract):
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(address)
        listener.listen()
        streams.append(listener)
    os.chmod(made.unix, 0o777)
    datagrams = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    datagrams.bind(str(folder / "host.dgram"))
    os.chmod(folder / "host.dgram", 0o777)
    victim = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    made.victim = victim.pid
    stop_reader, stop = os.pipe()
    everything = [*streams, udp, datagrams]

    def listen() -> None:
        while True:
            ready, _, _ = select.select([stop_reader, *everything], [], [])
            if stop_reader in ready:
                return
            for one in ready:
                if one in streams:
                    connection, _ = one.accept()
                    connection.settimeout(_PATIENCE)
                    with connection, contextlib.suppress(OSError):
                        made.received.append(connection.recv(4096))
                else:
                    made.received.append(one.recv(4096))

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield made
    finally:
        os.write(stop, b"x")
        thread.join()
        for one in everything:
            one.close()
        os.close(stop)
        os.close(stop_reader)
        with contextlib.suppress(ProcessLookupError):
            victim.send_signal(signal.SIGKILL)
        victim.wait()
        del os.environ["FAKE_PROVIDER_API_KEY"]
