"""Files that a person names: written whole or not at all, and what cannot be written is one line."""

from pathlib import Path

from proxies.atomic import replace_file
from workbench.errors import UsageError
from workbench.resources import is_resource_error


def write_output(path: Path, data: bytes) -> None:
    """Write a result where a person asked for it, by an atomic rename; into a device or a pipe as it is.

    Raises ``UsageError`` for a path that cannot be written. A full disk and its kin stay what they are: the caller's run
    can go on when that is mended.
    """
    try:
        replace_file(path, data)
    except OSError as error:
        if is_resource_error(error):
            raise
        raise UsageError(f"cannot write {str(path)[:200]}: {error.strerror or error}") from error
