"""Find the data folder of this environment, with the user's own catalogue and the runs."""

from collections.abc import Mapping
from pathlib import Path

import platformdirs


def home_from(environ: Mapping[str, str]) -> Path:
    """Return the data folder: ``WORKBENCH_HOME``, else the platform's place for user data.

    Read here, in the lowest room, because the Jupyter provisioner needs it as much as the workbench does.
    """
    named = environ.get("WORKBENCH_HOME")
    if not named:
        return Path(platformdirs.user_data_dir("analyst-workbench"))
    folder = Path(named).expanduser()
    try:
        return folder.resolve()
    # A loop of links, or a name too long: who opens the folder says so in a line.
    except (OSError, RuntimeError):
        return folder.absolute()
