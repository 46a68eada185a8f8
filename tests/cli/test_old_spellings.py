"""Options that were documented are taken: ``recorded/options.txt`` names every command of 23 November 2026 with its own."""

from pathlib import Path
from typing import Any

import typer

from workbench.cli.main import app

RECORDED = Path(__file__).parent / "recorded" / "options.txt"


def test_every_recorded_option_is_taken() -> None:
    lost = {}
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        names, *options = line.split(" | ")
        command: Any = typer.main.get_command(app)
        for name in names.removesuffix(" |").split():
            command = command.commands[name]
        known = {name for each in command.params for name in (*each.opts, *each.secondary_opts)}
        lost[names] = set(" ".join(options).split()) - known
    assert len(lost) > 50 and not any(lost.values()), lost
