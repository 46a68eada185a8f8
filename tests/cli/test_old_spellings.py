"""What was an option once is one, or a name of ``--set``: ``recorded/options.txt`` names every command of 23 November 2026 with its own."""

from pathlib import Path
from typing import Any

import typer

from workbench.cli.lazy import SHARED
from workbench.cli.main import app
from workbench.engine.named_settings import settings_by_name
from workbench.requests import fields_of

RECORDED = Path(__file__).parent / "recorded" / "options.txt"


def test_every_recorded_option_is_taken() -> None:
    lost = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        names, *options = line.split(" | ")
        command: Any = typer.main.get_command(app)
        for name in names.removesuffix(" |").split():
            command = command.commands[name]
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)} | {
            *SHARED,
            "-y",
        }
        if operation := getattr(command, "operation", None):
            known |= {f"--{each.word.replace('_', '-')}" for each in fields_of(operation)} | {"-o"}
            if "settings" in operation.model_fields:
                known |= {f"--{each.name.replace('_', '-')}" for each in settings_by_name().values()}
        lost[names] = set(" ".join(options).split()) - known
    assert len(lost) > 50 and not any(lost.values()), lost
