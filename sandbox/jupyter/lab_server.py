"""Guard ``workbench lab`` like ``workbench serve``, and cull its abandoned kernels.

Named by the options that `sandbox.jupyter.door.lab_options` returns.
"""

import logging
import sys
from functools import partial
from typing import Any

from jupyter_server.auth.identity import PasswordIdentityProvider
from jupyter_server.services.kernels.kernelmanager import AsyncMappingKernelManager
from tornado.web import HTTPError

from sandbox.jupyter.door import COOKIE_OPTIONS, SERVER_SETTINGS, is_own_request
from sandbox.jupyter.lab import ANALYST_KERNELS

LEAST_TOKEN = 22  # letters of base64 that carry 128 bits


class OwnPages(PasswordIdentityProvider):
    """Jupyter's check of token and cookie, for requests of our own pages only; used by ``workbench lab``.

    Jupyter asks it at every request that needs a user, websockets too, and refuses those that name a foreign host itself.
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        # In place, and now: options of the command line cannot hold a dict without a warning for everybody to read.
        self._server().tornado_settings.update(SERVER_SETTINGS)
        self.cookie_options = dict(COOKIE_OPTIONS)

    def _server(self) -> Any:
        return self.parent

    def get_user(self, handler: Any) -> Any:
        """Return the user of a request; 403 for another page's request, whatever its token or cookie."""
        if not is_own_request(handler.request.headers, self._server().port):
            raise HTTPError(403, "this server answers its own pages only")
        return super().get_user(handler)

    def validate_security(self, app: Any, ssl_options: dict[str, Any] | None = None) -> None:
        """Refuse to start with a token that can be guessed."""
        super().validate_security(app, ssl_options)
        if not self.hashed_password and len(self.token) < LEAST_TOKEN:
            sys.stderr.write(
                f"workbench: the token of JUPYTER_TOKEN or Jupyter's settings has {len(self.token)} characters, at least"
                f" {LEAST_TOKEN} are needed: leave it out, and one is made\n"
            )
            sys.exit(2)
        # From here on the log says when the server runs; of thirty lines that is the one a person needs.
        app.log.addFilter(partial(_say_address, app))
        app.log_level = logging.INFO


def _say_address(app: Any, record: logging.LogRecord) -> bool:
    """Print the address once the server runs, and pass only warnings to the log."""
    message = record.getMessage()
    if "is running at:" in message:
        sys.stdout.write(f"{app.local_url}\n")
        sys.stdout.flush()
    return record.levelno >= logging.WARNING and "To access the server" not in message


class LabKernels(AsyncMappingKernelManager):
    """Jupyter's kernel manager, which culls only ours."""

    async def cull_kernel_if_idle(self, kernel_id: str) -> None:
        """Cull an abandoned Analyst kernel; a person may keep state in any other."""
        if self._kernels[kernel_id].kernel_name in ANALYST_KERNELS:
            await super().cull_kernel_if_idle(kernel_id)  # type: ignore[no-untyped-call]
