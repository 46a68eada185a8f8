"""What comes from the environment, read once at the door (the command line or ``import workbench``) and passed on."""

from collections.abc import Mapping
from pathlib import Path

import platformdirs


def config_folder() -> Path:
    """Return the platform's folder for a person's settings and keys; no cell of a sealed kernel sees it."""
    return Path(platformdirs.user_config_dir("analyst-workbench"))


def home_from(environ: Mapping[str, str]) -> Path:
    """Return the data folder: ``WORKBENCH_HOME``, else the platform's place for user data."""
    named = environ.get("WORKBENCH_HOME")
    return (
        Path(named).expanduser().resolve() if named else Path(platformdirs.user_data_dir("analyst-workbench"))
    )
