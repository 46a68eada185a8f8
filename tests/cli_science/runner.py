"""The science commands, and JSON back."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
from typer.testing import CliRunner, Result

from workbench.cli.main import app


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def run_json(*words: object) -> Any:
    result = run(*words, "--json")
    assert result.exit_code == 0, result.output + repr(result.exception)
    return json.loads(result.stdout)


def refused(*words: object) -> str:
    """The one line of a refusal: exit 2, nothing on stdout, no traceback."""
    result = run(*words)
    assert result.exit_code == 2, (result.exit_code, result.output, result.exception)
    assert result.stdout == ""
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, lines
    return lines[0]


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def files(folder: Path, events: Mapping[str, Any], forecasts: Mapping[str, Any]) -> tuple[object, ...]:
    """Write a file of events and one of forecasts from columns; the options that name them."""
    for name, columns in (("events", events), ("forecasts", forecasts)):
        pd.DataFrame(columns).to_csv(folder / f"{name}.csv", index=False)
    return ("--events", folder / "events.csv", "--forecasts", folder / "forecasts.csv")
