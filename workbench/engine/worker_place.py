"""Where a sitting's leaves are grounded instead of in its own process; a cluster only on the word of the person who trusts it.

Dask unpickles what schedulers and workers send, so whoever holds a certificate of a cluster can run code in the owner's
process, where the keys are. Every door to Dask takes a `WorkerPlace`, which a cluster cannot be without the word.
"""

from dataclasses import dataclass

from workbench.errors import Option, UsageError

#: More processes than this on one machine is a mistake, most likely a port.
MOST = 256


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """So many processes of this machine (``4``), or a cluster (``dask://HOST:PORT``) that the caller trusts.

    Raises ``UsageError`` for any other text, and for a cluster without ``trust_cluster``.
    """

    text: str
    trust_cluster: bool = False

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
        if self.trust_cluster is not True:
            raise UsageError(
                Option("workers", f"{self.text:.200}"),
                ": whoever holds this cluster's certificate can run code in this process, which"
                " holds your keys; if you trust them all, say ",
                Option("trust_cluster", True),
            )

    @property
    def count(self) -> int | None:
        """How many processes of this machine; None for a cluster."""
        text = self.text
        return int(text) if text.isascii() and text.isdigit() and 1 <= int(text) <= MOST else None

    def words(self) -> list[str]:
        """Return the options of the command line that name this place."""
        return ["--workers", self.text, *(["--trust-cluster"] if self.trust_cluster else [])]


def worker_place(workers: str | int | None, *, trust_cluster: bool) -> WorkerPlace | None:
    """Return what ``--workers`` and ``--trust-cluster`` say; None for this process. Raises ``UsageError``."""
    return None if workers is None else WorkerPlace(str(workers), trust_cluster)
