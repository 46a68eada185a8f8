"""The errors of all rooms that a person meets in the ordinary run of things, and the exit code that each stands for."""

from proxies.errors import CatalogueError, ProxyError, Refused
from proxies.input_files import InputRefused
from sandbox.errors import IsolationUnavailable, SandboxError
from workbench.errors import BUG, ISOLATION, PROVIDER, USAGE, WorkbenchError

#: Anything else is a bug of ours.
EXPECTED = (WorkbenchError, ProxyError, SandboxError, InputRefused)


def exit_code(error: BaseException) -> int:
    """Return the exit code an error stands for; 1 is a bug of ours."""
    match error:
        case WorkbenchError():
            return error.exit_code
        # Before ProxyError, which is the base of both.
        case (
            Refused() | CatalogueError() | InputRefused()
        ):  # the latter: a file of the user's own, or an installed package
            return USAGE
        case ProxyError():
            return PROVIDER
        case IsolationUnavailable():
            return ISOLATION
        case SandboxError():
            return PROVIDER
        case _:
            return BUG
