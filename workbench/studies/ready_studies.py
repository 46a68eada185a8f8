"""The studies that come with the workbench: their names and notes, and copies of them."""

from functools import cache
from importlib.resources import files
from pathlib import Path

import yaml

from workbench.agents.replies.json_reply import every_text
from workbench.errors import UsageError
from workbench.output_files import write_output

_PACKAGE = "workbench.studies.ready"


@cache
def ready_studies() -> dict[str, str]:
    """Name -> what the study asks, in the order of the names."""
    names = sorted(entry.name for entry in files(_PACKAGE).iterdir() if entry.name.endswith(".yaml"))
    return {
        name.removesuffix(".yaml"): str(
            yaml.safe_load(files(_PACKAGE).joinpath(name).read_text("utf-8"))["note"]
        )
        for name in names
    }


#: What a person has to fill in, as it stands in the files.
HOLES = (
    "MODEL",
    "MODEL_A",
    "MODEL_B",
    "MODEL_C",
    "SET",
    "CONTEXTS.json",
    "EVENTS.csv",
    "TRIALS.csv",
    "METHOD",
)


def needs_of(name: str) -> tuple[str, ...]:
    """What has to be filled in before a study can run; empty for one that runs as it is."""
    words = set(every_text(yaml.safe_load(files(_PACKAGE).joinpath(f"{name}.yaml").read_text("utf-8"))))
    return tuple(hole for hole in HOLES if hole in words)


def write_ready(name: str, target: Path) -> list[Path]:
    """Write a study, and its questions beside it where it brings some; return what was written.

    Raises `UsageError`: No such study.
    """
    if name not in ready_studies():
        raise UsageError(f"no ready study {name!r:.60}; there is: {', '.join(ready_studies())}")
    written = [target]
    write_output(target, files(_PACKAGE).joinpath(f"{name}.yaml").read_bytes())
    questions = files(_PACKAGE).joinpath(f"{name}.csv")
    if questions.is_file():
        written.append(target.with_name(f"{name}.csv"))
        write_output(written[-1], questions.read_bytes())
    return written
