"""``workbench models try``: what it says of servers that are fit, that need further asks, and that are not."""

from pathlib import Path

import pytest

from tests.command_line import run_cli
from tests.fakes.personas import PersonaServer


@pytest.mark.parametrize(
    ("persona", "code", "words"),
    [
        ("good", 0, "fit: every form came right"),
        ("barejson", 0, "fit: every form came right"),
        ("reasonlengthonce", 0, "fit, with further asks for conclusion"),
        ("refusetext", 6, "not fit: it does not bring conclusion"),
        ("ctxall", 6, "not fit"),
    ],
)
def test_a_model_is_called_fit_or_not(persona: str, code: int, words: str, tmp_path: Path) -> None:
    with PersonaServer(persona) as server:
        done = run_cli(tmp_path, "models", "try", "openai/p", "--set", f"api_base={server.url}")
    assert done.returncode == code, done.stderr
    assert words in done.stdout
    assert "correction" in done.stdout


def test_the_list_needs_no_key_and_shows_the_analyst_that_needs_none(tmp_path: Path) -> None:
    done = run_cli(tmp_path, "models")
    assert done.returncode == 0 and "offline/analyst" in done.stdout
