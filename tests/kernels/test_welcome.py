"""A subscriber of the output channel is greeted although an output is being sent at that very moment."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "kernels" / "analyst"

PROGRAM = """
import sys, threading, time
sys.path.insert(0, {folder!r})
import zmq
from ipykernel.iostream import IOPubThread
from jupyter_client.session import Session
from streams import OutputThread

context = zmq.Context()
publisher = context.socket(zmq.XPUB)
publisher.bind("inproc://outputs")
thread = {kind}(publisher, pipe=False, session=Session(key=b""))
thread.start()
held, go = threading.Event(), threading.Event()

def send_when_told():
    held.set()
    go.wait(10)
    time.sleep(0.1)  # the subscription is in the mailbox by now
    thread._really_send([b"an output"])

if {busy}:
    thread.schedule(send_when_told)
    held.wait(10)
subscriber = context.socket(zmq.SUB)
subscriber.connect("inproc://outputs")
subscriber.setsockopt(zmq.SUBSCRIBE, b"")
go.set()
greeted = False
while not greeted and subscriber.poll(1000):
    greeted = b"iopub_welcome" in b"".join(subscriber.recv_multipart())
print(greeted)
subscriber.close()
thread.stop()
thread.close()
context.term()
"""


@pytest.mark.parametrize(
    ("kind", "busy"), [("OutputThread", True), ("OutputThread", False), ("IOPubThread", False)]
)
def test_a_subscriber_is_greeted(kind: str, busy: bool):
    assert _greeted(kind, busy)


def test_without_the_look_after_each_send_the_greeting_is_lost():
    assert not _greeted("IOPubThread", busy=True)


def _greeted(kind: str, busy: bool) -> bool:
    program = textwrap.dedent(PROGRAM).format(folder=str(FOLDER), kind=kind, busy=busy)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip() == "True"
