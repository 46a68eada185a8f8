"""Work that takes longer than a click: on a thread of its own, so that the page goes on answering and says that it is alive."""

import threading
from collections.abc import Callable
from typing import TypeVar

from workbench.errors import WorkbenchError
from workbench.widgets.page_terms import on_page

T = TypeVar("T")


class Background:
    """One piece of work at a time; what it came to is handed over on its own thread."""

    def __init__(self, refuse: Callable[[str], None]) -> None:
        self._refuse = refuse
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether the last piece of work is still going on."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, work: Callable[[], T], done: Callable[[T], None]) -> None:
        """Do the work and then call ``done`` with what it returned; nothing is begun while another piece is going on."""
        if self.busy:
            return

        def work_and_tell() -> None:
            try:
                done(work())
            except WorkbenchError as error:
                self._refuse(on_page(error))
            except Exception as error:  # else the page would wait for ever; raised again for the server's log
                self._refuse(f"it ended in an error of the workbench ({type(error).__name__})")
                raise

        # A page that is closed does not wait for it: what was paid for is in the ledger by then.
        self._thread = threading.Thread(target=work_and_tell, name="page-work", daemon=True)
        self._thread.start()

    def wait(self, seconds: float = 60.0) -> None:
        """Return when the work is done, or after this time."""
        if self._thread is not None:
            self._thread.join(seconds)
