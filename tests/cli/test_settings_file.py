"""workbench.toml: a person's own says anything but secrets, one in the current folder only how a claim is treated."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.engine.run_settings import RunSettings
from workbench.engine.settings_file import ANALYZE, CLAIM_LEVEL, DOWNWARD, NAME, defaults, run_settings
from workbench.errors import UsageError

OWN = """
[analyze]
model = "openai/mine"
api_base = "http://127.0.0.1:8000/v1"
effort = "low"
max_steps = 7
budget_usd = 2.0
cell_timeout = 30
fallback = ["openai/second"]

[models.grounder]
model = "anthropic/claude-sonnet-4-5"

[prices]
"openai/mine" = [0.5, 1.5]

[headers]
X-Team = "env:TEAM_NAME"
"""


def folders(tmp_path: Path, own: str | None = None, foreign: str | None = None) -> tuple[Path, Path]:
    current, config = tmp_path / "current", tmp_path / "config"
    current.mkdir(exist_ok=True)
    config.mkdir(exist_ok=True)
    for folder, text in ((config, own), (current, foreign)):
        if text is not None:
            (folder / NAME).write_text(text, encoding="utf-8")
    return current, config


def settings_of(values: dict[str, Any], **chosen: Any) -> RunSettings:
    return run_settings(chosen, values)


def test_a_persons_own_file_sets_what_the_options_set(tmp_path: Path) -> None:
    current, config = folders(tmp_path, OWN)
    values, complaints = defaults(current, config=config)
    assert complaints == []
    settings = settings_of(values)
    assert (settings.model, settings.api_base) == ("openai/mine", "http://127.0.0.1:8000/v1")
    assert (settings.agent.effort, settings.agent.max_proof_steps) == ("low", 7)
    assert settings.models == {"grounder": "anthropic/claude-sonnet-4-5"}
    assert settings.prices == {"openai/mine": [0.5, 1.5]}
    assert (settings.cell_timeout, settings.fallback) == (30, ["openai/second"])
    assert settings.model_options({"TEAM_NAME": "us"})["headers"] == {"X-Team": "us"}
    with pytest.raises(UsageError, match="TEAM_NAME, which is not set"):
        settings.model_options({})


def test_limits_of_a_provider_bound_its_pace(tmp_path: Path) -> None:
    text = "[limits.openai]\nrequests_per_minute = 60\ntokens_per_minute = 30_000\n"
    current, config = folders(tmp_path, text)
    settings = settings_of(defaults(current, config=config)[0])
    assert settings.limits == {"openai": {"requests_per_minute": 60.0, "tokens_per_minute": 30_000.0}}
    assert RunSettings.from_json(settings.to_json()) == settings
    with pytest.raises(UsageError, match="numbers above 0 of requests_per_minute and tokens_per_minute"):
        settings_of({"limits": {"openai": {"requests_per_minute": 0.0}}})


def test_the_command_line_wins_and_another_model_does_not_go_to_the_files_address(tmp_path: Path) -> None:
    current, config = folders(tmp_path, OWN)
    values, _ = defaults(current, config=config)
    assert settings_of(values, effort="high").agent.effort == "high"
    other = settings_of(values, model="anthropic/claude-sonnet-4-5")
    assert (other.model, other.api_base) == ("anthropic/claude-sonnet-4-5", None)
    assert settings_of(values, model="openai/mine").api_base is not None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[analyze]\nmodle = "x"', "line 2: modle is not an option"),
        ('[analyze]\nopenai_api_key = "sk-123"', "line 2: openai_api_key looks like a secret"),
        ('[headers]\nAuthorization = "Bearer sk-1"', "line 2: Authorization looks like a secret"),
        ('[headers]\nX-Team = "us"', "environment variable"),
        ('[models.cook]\nmodel = "x/y"', "cook is no role"),
        ("[limits.openai]\nper_day = 5", "line 1: openai needs numbers of requests_per_minute"),
        ('[limits.openai]\ntokens_per_minute = "many"', "line 1: openai needs numbers"),
        ('[prices]\n"x/y" = [1, 2, 3, 4]', "line 2: x/y needs two numbers"),
        ('[models.judge]\nmodel = "x/y"\nkey = "z"', "one setting"),
        ('[prices]\n"x/y" = 3', "two numbers"),
        ("[kitchen]\na = 1", "kitchen is not a section"),
        ('model = "x"', "outside of a section"),
        ("[analyze", "is no TOML"),
    ],
)
def test_an_own_file_that_says_what_there_is_not_is_one_line(tmp_path: Path, text: str, why: str) -> None:
    current, config = folders(tmp_path, text)
    with pytest.raises(UsageError) as refused:
        defaults(current, config=config)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "sk-1" not in str(refused.value)


def test_values_of_another_kind_are_refused_in_one_line(tmp_path: Path) -> None:
    current, config = folders(tmp_path, '[analyze]\ntimeout = "long"')
    values, _ = defaults(current, config=config)
    with pytest.raises(UsageError):
        settings_of(values)


def test_a_file_of_the_current_folder_sets_a_claims_own_options(tmp_path: Path) -> None:
    current, config = folders(tmp_path, OWN, '[analyze]\nrule = "vanilla"\ndepth = 2\nbudget_usd = 1.0\n')
    values, complaints = defaults(current, config=config)
    settings = settings_of(values)
    assert complaints == []
    assert (settings.rule, settings.depth, settings.budget_usd) == ("vanilla", 2, 1.0)


def test_it_lowers_a_budget_and_never_raises_one(tmp_path: Path) -> None:
    current, config = folders(tmp_path, OWN, "[analyze]\nbudget_usd = 500.0\n")
    assert defaults(current, config=config)[0]["budget_usd"] == 2.0


@pytest.mark.parametrize("name", sorted(ANALYZE - CLAIM_LEVEL - DOWNWARD))
def test_it_sets_nothing_else(tmp_path: Path, name: str) -> None:
    current, config = folders(tmp_path, None, f'[analyze]\n{name} = "http://evil.example"\n')
    values, (complaint,) = defaults(current, config=config)
    assert values == {}
    assert name in complaint and "evil" not in complaint


@pytest.mark.parametrize("section", ["headers", "prices", "models.grounder", "limits.openai"])
def test_it_has_no_other_section(tmp_path: Path, section: str) -> None:
    current, config = folders(tmp_path, None, f'[{section}]\nmodel = "env:HOME"\n')
    values, (complaint,) = defaults(current, config=config)
    assert values == {} and section.partition(".")[0] in complaint


@given(st.binary(max_size=200))
def test_any_bytes_in_the_current_folder_are_read_or_ignored_with_a_line(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.mktemp("any")
    (folder / NAME).write_bytes(data)
    _, complaints = defaults(folder, config=folder / "none")
    assert all("\n" not in complaint for complaint in complaints)


def test_a_pipe_or_a_link_to_a_device_does_not_hold_the_command(tmp_path: Path) -> None:
    import os

    current, config = folders(tmp_path)
    os.mkfifo(current / NAME)
    _, (complaint,) = defaults(current, config=config)
    assert "not a regular file" in complaint
