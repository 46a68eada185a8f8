"""Ids of kernels' users: one for each, shared with nobody, whoever else starts kernels on this machine."""

import itertools
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox import KernelStartFailed
from sandbox.kernels import users

TAKE = "from sandbox.kernels.users import next_user; print(*[next_user() for _ in range(50)], flush=True); input()"


def _taking() -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", TAKE],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).resolve().parents[2],
    )


@pytest.fixture
def one_block(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only one block is left on the machine, so that whoever comes second must notice it."""
    monkeypatch.setattr(users, "blocks", {})
    monkeypatch.setattr(users, "BLOCKS", 1)
    monkeypatch.setattr(users, "ATTEMPTS", 1)
    monkeypatch.setattr(users, "FIRST", 2_100_000_000)


def test_managers_of_the_same_time_and_a_forked_one_share_no_user():
    managers = [_taking() for _ in range(3)]
    taken = [set(map(int, manager.stdout.readline().split())) for manager in managers]
    taken.append({users.next_user() for _ in range(50)})
    reader, writer = os.pipe()
    if os.fork() == 0:
        os.write(writer, " ".join(str(users.next_user()) for _ in range(50)).encode())
        os._exit(0)
    os.wait()
    taken.append(set(map(int, os.read(reader, 65536).split())))
    os.close(reader)
    os.close(writer)
    for manager in managers:
        manager.communicate("\n")
    assert all(len(some) == 50 for some in taken)
    assert all(not one & other for one, other in itertools.combinations(taken, 2))


def test_a_block_that_is_held_is_not_given_twice_and_is_free_with_its_holder_gone(one_block: None):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind("\0analyst-users-0")
        with pytest.raises(KernelStartFailed, match="no user ids for kernels"):
            users.next_user()
    assert users.next_user() == 2_100_000_000
    users.blocks[os.getpid()].holder.close()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")
def test_a_block_of_which_a_process_lives_is_not_given(one_block: None):
    """Closed to looks, as a kernel is that outlives its killed manager by a moment."""
    program = (
        "import ctypes, os; os.setresuid(2100000005, 2100000005, 2100000005); "
        "ctypes.CDLL(None).prctl(4, 0, 0, 0, 0); print(1, flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as left_over:
        assert left_over.stdout.readline() == "1\n"
        with pytest.raises(KernelStartFailed, match="in use"):
            users.next_user()
        left_over.communicate("\n")
    assert users.next_user() == 2_100_000_000
    users.blocks[os.getpid()].holder.close()
