"""One list of settings, many faces: a setting that is added to a run is on each of them, without a line there."""

from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import pytest
import typer

from tests.command_line import run_cli
from workbench.agents.base import AgentSettings, ClaimContext
from workbench.cli.lazy import SHARED
from workbench.cli.main import app
from workbench.engine.leaves.aggregation import Aggregation
from workbench.engine.named_settings import (
    merged,
    names_in_files,
    read_settings,
    setting_of,
    settings_by_name,
    settings_by_panel,
)
from workbench.engine.run_settings import CHANGEABLE, RunSettings, with_preset
from workbench.engine.settings_file import ANALYZE
from workbench.errors import UsageError
from workbench.formatting import GLOSSARY, SCORE_WORDS
from workbench.magics import typed
from workbench.operations.analysis import Analyze, Resume
from workbench.requests import fields_of

#: Fields that nobody sets by name: what holds settings of its own, and what is recorded when a run is opened.
NO_SETTINGS = {"agent", "aggregation", "options", "context", "packages", "keyed", "learned_from"}
#: Commands that open or continue runs.
TAKERS = ("analyze", "resume", "reground", "forecast", "tournament run", "tournament triage", "experiment run", "experiment status", "experiment report")  # fmt: skip


def command(words: str) -> Any:
    found: Any = typer.main.get_command(app)
    for word in words.split():
        found = found.commands[word]
    return found


def example(name: str) -> tuple[str, Any]:
    """What is typed for a setting, and the value that it comes to; another than its default."""
    each = settings_by_name()[name]
    known = {"api_base": "http://localhost:9", "preset": "blf-paper", "prior": "0.3", "floor": "0.5", "headers": '{"a": "env:B"}',
             "limits": '{"openai": {"requests_per_minute": 5}}', "prices": '{"openai/x": [1, 2]}', "models": '{"judge": "openai/x"}',
             "crowded_share": "0.5", "crowd": "0.5", "fallback": "openai/x,openai/y", "direct_models": "openai/x,openai/y", "framings": "no_first,yes_first", "body": '{"a": 1}'}  # fmt: skip
    values = {
        "blf-paper": "blf-paper",
        "0.3": 0.3,
        "0.5": 0.5,
        "openai/x,openai/y": ["openai/x", "openai/y"],
        "no_first,yes_first": ["no_first", "yes_first"],
    }
    if each.name in known:
        import json

        text = known[each.name]
        return text, values[text] if text in values else json.loads(text) if text.startswith("{") else text
    if each.shape == "flag":
        return str(not each.default).lower(), not each.default
    if each.bare is int:
        return "7", 7
    if each.bare is float:
        return "0.25", 0.25
    if get_args(each.bare):
        other = next(value for value in get_args(each.bare) if value != each.default)
        return str(other), other
    return "something", "something"


@pytest.mark.parametrize("kind", [RunSettings, AgentSettings, ClaimContext, Aggregation])
def test_every_field_of_the_settings_says_what_it_is(kind: type) -> None:
    said = {each.name for each in fields_of(kind)}
    assert {each.name for each in fields(kind)} - said - NO_SETTINGS == set()
    assert all(setting_of(each).panel and each.says.text.endswith(".") for each in fields_of(kind))


@pytest.mark.parametrize("name", sorted(settings_by_name()))
def test_set_reaches_every_setting(name: str) -> None:
    text, value = example(name)
    read = read_settings([f"{name}={text}"])
    holder = settings_by_name()[name].name
    settings = with_preset(read.pop("preset", "product"), **read)
    document = settings.to_json()
    places = [document, document["agent"], document["context"]]
    place = (
        document["aggregation"]
        if name.startswith("aggregation.")
        else next(each for each in places if holder in each)
    )
    assert place[holder] == value
    assert RunSettings.from_json(document) == settings


def test_help_and_files_name_every_setting(tmp_path: Path) -> None:
    short = "".join(run_cli(tmp_path, "analyze", "--help").stdout.split())
    whole = run_cli(tmp_path, "help", "analyze").stdout
    for names in settings_by_panel().values():
        for name in names:
            assert name in short and name in whole, name
    assert all(
        " ".join(each.says.text.split()) in " ".join(whole.split()) for each in settings_by_name().values()
    )
    assert names_in_files("own", "any", "less") == ANALYZE


@pytest.mark.parametrize("words", TAKERS)
def test_commands_that_open_or_continue_runs_take_set(words: str) -> None:
    names = {name for param in command(words).params for name in param.opts}
    assert "--set" in names
    shown = {param.opts[0] for param in command(words).params if not getattr(param, "hidden", False)}
    assert "--set" in shown


def test_what_a_run_that_was_begun_may_change_is_a_field_of_resume() -> None:
    assert {*Resume.model_fields} >= CHANGEABLE


def test_the_magic_reads_its_line_as_the_command_does() -> None:
    words = [
        "It rains",
        "--cutoff",
        "now",
        "--trials",
        "3",
        "--fallback",
        "openai/x",
        "--set",
        "leaf_budget_usd=2",
    ]
    request: Any = typed("%%proposition", Analyze, words)
    assert (
        request.trials == 3 and request.fallback == ["openai/x"] and request.settings == ["leaf_budget_usd=2"]
    )
    for wrong in ("--trails", "--help"):
        with pytest.raises(UsageError, match="%%proposition"):
            typed("%%proposition", Analyze, ["x", wrong])


@pytest.mark.parametrize(
    ("pair", "words"),
    [
        ("trials", "write ROLE.NAME=VALUE or NAME=VALUE"),
        ("trails=3", "did you mean trials"),
        ("trials=three", "valid integer"),
        ("strict=perhaps", "valid boolean"),
        ("nobody.x=1", "options belong to analyzer"),
        ("aggregation.nothing=1", "no setting"),
        ("packages={}", "no setting"),
        ("agent={}", "no setting"),
    ],
)
def test_a_setting_that_there_is_not_is_one_line(pair: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read_settings([pair])
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_a_setting_is_said_once() -> None:
    for pairs in (["trials=2", "trials=3"], ["grounder.steps=1", "grounder.steps=2"]):
        with pytest.raises(UsageError, match="set twice"):
            read_settings(pairs)
    with pytest.raises(UsageError, match="set twice"):
        merged({"trials": 2}, read_settings(["trials=3"]))
    both = merged(
        {"options": {"synthesizer": {"semantics": "strict"}}},
        read_settings(["grounder.steps=1", "models.judge=openai/x"]),
    )
    assert both == {
        "options": {"synthesizer": {"semantics": "strict"}, "grounder": {"steps": 1}},
        "models": {"judge": "openai/x"},
    }


def test_help_is_short_and_every_option_is_named_somewhere(tmp_path: Path) -> None:
    """At most 250 options in all short helps, about ten of them of `analyze`, and 330 are taken; each help ends with what else there is."""
    shown, taken, seen = 0, len(SHARED), set()

    def walk(each: Any) -> None:
        nonlocal shown, taken
        if id(each) in seen:
            return
        seen.add(id(each))
        options = [param for param in each.params if param.param_type_name == "option"]
        taken += len(options)
        shown += 0 if hasattr(each, "commands") else sum(not param.hidden for param in options)
        for name in getattr(each, "commands", {}):
            walk(each.commands[name])

    walk(typer.main.get_command(app))
    assert shown <= 250 and taken <= 330
    assert sum(not getattr(param, "hidden", False) for param in command("analyze").params) <= 12
    for words in ("analyze", "science score", "source add", "noise"):
        wide = {"COLUMNS": "200"}
        short = " ".join(run_cli(tmp_path, *words.split(), "--help", **wide).stdout.split())
        whole = " ".join(run_cli(tmp_path, "help", *words.split(), **wide).stdout.split())
        target = command(words)
        names = [param.opts[-1] for param in target.params if param.param_type_name == "option"]
        for name in (*names, *target.operation.set_fields(), "--json", "--yes"):
            assert name in short and name in whole, (words, name)
        assert all(
            " ".join(each.says.text.split()) in whole for each in target.operation.set_fields().values()
        )
    assert run_cli(tmp_path, "help", "nothing").returncode == 2


def test_the_shared_options_stand_anywhere_and_mean_the_same(tmp_path: Path) -> None:
    lines = [("--json", "runs", "--yes"), ("runs", "--json"), ("--yes", "runs", "--json")]
    first, *others = [run_cli(tmp_path, *words) for words in lines]
    assert first.returncode == 0 and all(each.stdout == first.stdout for each in others)
    for words, line in (
        (("docs", "--json"), "takes no --json"),
        (("runs", "--set", "x=1"), "there is no setting 'x' here"),
        (("noise", "last", "--set", "sed=1"), "did you mean seed?"),
        (("noise", "last", "--set", "seed=1", "--set", "seed=2"), "is set twice"),
        (("noise", "last", "--set", "seed=many"), "--set seed 'many': write a whole number"),
        (("noise", "last", "--set"), "write NAME=VALUE"),
        (("noise", "last", "--draws", "1"), "write --set draws=VALUE"),
    ):
        refused = run_cli(tmp_path, *words)
        assert refused.returncode == 2 and line in refused.stderr and refused.stdout == "", refused.stderr
        assert len(refused.stderr.splitlines()) == 1


def test_help_explains_the_words_of_screens(tmp_path: Path) -> None:
    shown = run_cli(tmp_path, "help", "glossary").stdout
    assert [line.split("  ")[0] for line in shown.splitlines()] == [*GLOSSARY, *SCORE_WORDS]
