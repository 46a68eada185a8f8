"""Where a session's leaves are grounded instead of in its own process: processes of this machine, or a Dask cluster."""

from dataclasses import dataclass

from workbench.errors import Option, UsageError

#: More processes than this on one machine is a mistake, most likely a port.
MOST = 256


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """So many processes of this machine (``4``), or a cluster (``dask://HOST:PORT``).

    Raises ``UsageError`` for any other text.
    """

    text: str

    def __post_init__(self) -> None:
        if self.count is not None:
            return
        host, colon, port = self.text.removeprefix("dask://").rpartition(":")
        named = self.text.startswith("dask://") and host and colon and port.isascii() and port.isdigit()
        if not named:
            raise UsageError(
                Option("workers", f"{self.text!r:.200}"),
                f": write dask://HOST:PORT, or how many processes of this machine (1 to {MOST})",
            )

    @property
    def count(self) -> int | None:
        """How many processes of this machine; None for a cluster."""
        text = self.text
        return int(text) if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST else None

    def words(self) -> list[str]:
        """Return the options of the command line that name this place."""
        return ["--workers", self.text]


def worker_place(workers: str | int | None) -> WorkerPlace | None:
    """Return what ``--workers`` says; None for this process. Raises ``UsageError``."""
    return None if workers is None else WorkerPlace(str(workers))
