"""What the watches need of a kernel; `sandbox.kernels.kernel.Kernel` has this shape.

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
        """Whether it has not ended yet."""

    @property
    def exited(self) -> "Future[int]":
        """Its exit code to come."""

    def signal(self, number: int, *, group: bool = False) -> None:
        """Send it a signal."""


class WatchedKernel(Protocol):
    """A kernel that is held to its limits."""

    @property
    def process(self) -> WatchedProcess:
        """Its process."""

    @property
    def group(self) -> Group | None:
        """Its control group, where there is one."""

    def interrupt(self) -> None:
        """Send Ctrl-C to it and to the programs it runs."""
