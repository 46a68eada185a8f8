"""Count a whole session's use of its limits: data calls, their bytes, output, processor time.

A session outlives its kernels: one that ends is replaced, and a stopped run takes its sessions up again in another process.
So each cell's share stands in the journal, and the session adds the shares up. Were the sums a kernel's, a cell that ends its
kernel would begin anew with all of them.
"""

import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

_PROCESS_CLOCK = 2  # Linux: CPUCLOCK_SCHED, in the lowest three bits of such a clock's number


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceUsage:
    """The use of one cell, or a sum of several."""

    calls: int = 0
    answer_bytes: int = 0
    shown: int = 0
    cut: int = 0
    cpu_seconds: float = 0.0

    def __add__(self, other: "ResourceUsage") -> "ResourceUsage":
        return ResourceUsage(
            calls=self.calls + other.calls,
            answer_bytes=self.answer_bytes + other.answer_bytes,
            shown=self.shown + other.shown,
            cut=self.cut + other.cut,
            cpu_seconds=self.cpu_seconds + other.cpu_seconds,
        )

    @staticmethod
    def total(shares: "Iterable[ResourceUsage]") -> "ResourceUsage":
        """Add uses up."""
        return sum(shares, ResourceUsage())

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> Self:
        """Parse what `asdict` made; ``ValueError`` for a value that is no amount."""
        names = asdict(cls())
        if not isinstance(fields, Mapping) or set(fields) - set(names):
            raise ValueError("a cell's usage has other fields")
        for value in fields.values():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            if not number or not math.isfinite(value) or value < 0:
                raise ValueError(f"a cell cannot have used {value!r:.40}")
        return cls(**fields)


class SessionUsage:
    """The use of each cell by its id, and the sum.

    The sum is brought up to date with each share, because every cell asks for it: adding them all up anew cost 0.8 ms at the
    100th cell, a fifth of the cell.
    """

    def __init__(self) -> None:
        self._shares: dict[str, ResourceUsage] = {}
        self.total = ResourceUsage()

    def of(self, name: str) -> ResourceUsage:
        """Return the use of a cell; zero if none is recorded."""
        return self._shares.get(name, ResourceUsage())

    def record(self, name: str, share: ResourceUsage) -> None:
        """Add the use of a cell, or of a journal line outside cells; each name once."""
        self._shares[name] = share
        self.total += share


def cpu_seconds(pid: int) -> float | None:
    """Return the processor time of a process with all its threads; None after its end."""
    try:
        # the clock that clock_getcpuclockid(3) names; reading /proc/PID/stat twice a cell took 0.07 ms of it
        return time.clock_gettime(~pid << 3 | _PROCESS_CLOCK)
    except OSError:
        return None
