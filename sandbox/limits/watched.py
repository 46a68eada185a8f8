"""Describe the kernel that the watches need; `sandbox.kernels.kernel.Kernel` has this shape.

A Protocol and not that class, because a kernel joins its control group when it starts: `kernels` imports this room.
"""

from concurrent.futures import Future
from typing import Protocol

from sandbox.limits.cgroup import Group


class WatchedProcess(Protocol):
    """The process of a kernel."""

    @property
    def pid(self) -> int:
        """Process id on this side."""

    @property
    def alive(self) -> bool:
        """Whether the process runs."""

    @property
    def exited(self) -> "Future[int]":
        """The future of the exit code."""

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send a signal to the process."""


class WatchedKernel(Protocol):
    """A kernel under limits."""

    @property
    def process(self) -> WatchedProcess:
        """The kernel's process."""

    @property
    def group(self) -> Group | None:
        """The kernel's control group, if it has one."""

    def interrupt(self) -> None:
        """Send Ctrl-C to the kernel and its programs."""
