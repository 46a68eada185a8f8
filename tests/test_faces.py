"""One request, many faces: a kind of edit that is added to the model is on every screen, without a line there."""

import inspect
import json
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import typer
from pydantic import Field

from tests.command_line import run_cli
from tests.fakes.screens import RUN, demo_tree, make_run
from workbench.engine.named_settings import SETTINGS, read_settings, settings_by_name
from workbench.errors import UsageError
from workbench.operations.what_if import WhatIf
from workbench.requests import Says, fields_of
from workbench.synthesis.whatif.edits import Edit, SetValue
from workbench.whatif.edit_request import EditRequest

ROOT = Path(__file__).resolve().parents[1]


class Doubted(WhatIf):
    """All there is, and one kind more."""

    doubt: Annotated[
        list[str], Says(text="Halve the probability of a proposition.", word="halve", form="NODE")
    ] = Field(default_factory=list)

    def edits(self, tree: Any, override: Any = None) -> tuple[Edit, ...]:
        return tuple(SetValue(node=node, p=(tree[node].p or 0) / 2) for node in self.doubt)


MODELS = (WhatIf, Doubted)


def commands(model: type[WhatIf]) -> set[str]:
    app = typer.Typer()

    from workbench.cli.operation_command import command_of

    app.command()(command_of(model))
    return {name for each in typer.main.get_command(app).params for name in each.opts}


def of_command_line(model: type[WhatIf]) -> dict[str, str]:
    by_option = {each.name: each.option for each in fields_of(model) if each.option in commands(model)}
    return by_option | {each.name: name for name, each in model.set_fields().items()}


def of_magics(model: type[WhatIf]) -> dict[str, str]:
    """The magics read a line as the command line does."""
    from workbench.magics import typed

    typed("%whatif", model, ["last"])
    return of_command_line(model)


def of_python(model: type[WhatIf]) -> dict[str, str]:
    return {each.name: str(each.default) for each in fields_of(model)}


def of_mcp(model: type[WhatIf]) -> dict[str, str]:
    from workbench.mcp.mcp_tools import arguments_of

    properties = arguments_of(model).model_json_schema()["properties"]
    return {each.name: properties[each.word]["description"] for each in fields_of(model)}


def of_page(model: type[WhatIf]) -> dict[str, str]:
    from workbench.widgets.edits.edit_session import WhatIfSession
    from workbench.widgets.edits.node_form import EditingForm

    form = EditingForm(WhatIfSession(demo_tree()), lambda node: None, model)
    said = {
        each.tooltip
        for row in form.children
        for each in getattr(row, "children", ())
        if hasattr(each, "tooltip")
    }
    edits = {*EditRequest.model_fields} | ({*model.model_fields} - {*WhatIf.model_fields})
    # The tree's rows take the values; whether words mean the same goes with the words.
    elsewhere = {"values", "same_meaning", *WhatIf.model_fields} - (
        {*EditRequest.model_fields} - {"values", "same_meaning"}
    )
    return {
        each.name: "" for each in fields_of(model) if each.name in edits and each.says.text in said
    } | dict.fromkeys(elsewhere, "")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("face", [of_command_line, of_magics, of_python, of_mcp, of_page])
def test_every_kind_of_edit_is_on_every_face(face: Any, model: type[WhatIf]) -> None:
    assert {each.name for each in fields_of(model)} - {"run"} <= {*face(model)}


@pytest.mark.parametrize("model", MODELS)
def test_every_field_says_what_it_is(model: type[WhatIf]) -> None:
    assert {each.name for each in fields_of(model)} == {*model.model_fields}
    assert all(each.says.text.endswith(".") for each in fields_of(model))
    assert all(each.says.form for each in fields_of(model) if each.shape in ("list", "mapping"))


def test_the_faces_are_those_that_people_use(tmp_path: Path) -> None:
    """The command, the magic, Python, MCP and the page are made by the functions that are walked above."""
    from workbench.api import Analysis
    from workbench.mcp.mcp_tools import tools

    assert {each.name for each in fields_of(WhatIf)} - {"run"} <= {
        *inspect.signature(Analysis.what_if).parameters
    }
    assert all(each.says.text in str(Analysis.what_if.__doc__) for each in fields_of(WhatIf)[1:])
    words = {each.word for each in fields_of(EditRequest)}
    assert all(words <= {*tools()[name].arguments.model_fields} for name in ("what_if", "propose_edit"))


def test_every_setting_is_a_keyword_of_python_with_its_sentence() -> None:
    import workbench as wb

    own = [each for model in SETTINGS for each in fields_of(model)]
    assert len(own) > 50
    for call in (wb.analyze, wb.analyze_sync):
        known = inspect.signature(call).parameters
        assert {each.name for each in own} <= {*known}
    page = " ".join(str(wb.analyze.__doc__).split())
    assert [each.name for each in own if each.name != "preset" and each.says.text not in page] == []


@pytest.mark.parametrize("plain", ["trials=3", 'background="It rains often" critic=true'])
def test_every_setting_is_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: str) -> None:
    from workbench.widgets import home_page

    asked: list[list[str]] = []
    monkeypatch.setattr(home_page, "plan_elsewhere", lambda *words: asked.append(words[-1]) or "x")
    page = home_page.Home(tmp_path, environ={})
    page.poller.stop()
    listed = page.settings.tooltip.partition(": ")[2].split(", ")
    assert listed == [*settings_by_name()]
    page.claim.value, page.depth.value, page.budget.value = "It rains by 2027-01-01", "2", "5"
    page.settings.value = plain
    page.plan.click()
    values = read_settings(asked[0][1::2])
    assert {*asked[0][::2]} == {"--set"} and values["depth"] == 2 and values["budget_usd"] == 5
    assert values.get("trials") == 3 or values["background"] == "It rains often"
    page.settings.value = 'background="open'
    page.plan.click()
    assert len(asked) == 1 and "settings:" in page.line.value


def test_a_reading_is_chosen_on_every_face(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import workbench as wb
    from workbench.magics import typed
    from workbench.mcp.mcp_tools import arguments_of
    from workbench.operations.analysis import Analyze
    from workbench.operations.claim_reading import Read
    from workbench.widgets import home_page

    (says,) = [each.says.text for each in fields_of(Analyze) if each.name == "reading"]
    assert typed("%read", Read, ["x", "--reading", "2"]).reading == 2
    assert typed("%%proposition", Analyze, ["x", "--cutoff", "now", "--reading", "2"]).reading == 2
    assert arguments_of(Read).model_json_schema()["properties"]["reading"]["description"] == says
    assert all("reading" in inspect.signature(each).parameters for each in (wb.analyze, wb.read))
    asked: list[list[str]] = []
    monkeypatch.setattr(home_page, "plan_elsewhere", lambda *words: asked.append(words[-1]) or "x")
    page = home_page.Home(tmp_path, environ={})
    page.poller.stop()
    page.claim.value = "WTI above 80 by year end 2018"
    assert page.plan.disabled and [each.description for each in page.readings.children if hasattr(each, "click")] == [
        "WTI crude oil closes above 80 on 2018-12-31",
        "WTI crude oil closes above 80 at least once through 2018-12-31",
    ]  # fmt: skip
    page.readings.children[-1].click()
    assert (
        not page.plan.disabled
        and "Read as: WTI crude oil closes above 80 at least once" in page.readings.children[0].value
    )
    page.plan.click()
    assert asked[0][-2:] == ["--reading", "2"]
    page.cutoff.value = "2019-06-01"
    (remedy,) = [
        each for each in page.readings.children if getattr(each, "description", "").startswith("Use ")
    ]
    assert page.plan.disabled and "already settled" in page.line.value
    remedy.click()
    assert page.cutoff.value == "2018-07-01" and not page.plan.disabled
    page.claim.value = "WTI above 80 by end 2018"
    assert page.plan.disabled, "another text has been read as nothing yet"
    page.model.value = "openai/gpt"
    assert not page.plan.disabled and page.line.value == ""


def test_a_kind_says_the_same_however_it_is_written() -> None:
    typed = EditRequest.typed(
        values=["P3=40%"], add=["P2, negative=Oil rises"], rules=["P0=P1 AND NOT P2"], polarities=["P1=positive"],
        weights=["P3=-0.2"], restate=["P3=So it is"], remove=["P1.1"],
    )  # fmt: skip
    read = EditRequest.read(
        {
            "values": {"P3": "40%"},
            "add": [("P2", "Oil rises", "Negative")],
            "rules": {"P0": {"name": "logic", "formula": "P1 AND NOT P2", "assumption": None}},
            "polarities": {"P1": "Positive"},
            "weights": {"P3": -0.2},
            "restate": {"P3": "So it is"},
            "remove": "P1.1",
        }
    )
    assert typed == read


def test_a_rule_may_be_a_formula_and_a_report_a_file(tmp_path: Path) -> None:
    make_run(tmp_path / "home")
    (tmp_path / "notes.md").write_text("Key factor: the yield curve\nIt has turned.\n")
    done = run_cli(
        tmp_path, "whatif", RUN, "--rule", "P0=P1 AND P2", "--remove", "P3", "--report", "P1=notes.md", "--scenario", "curve", "--json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    p1, p2 = demo_tree()["P1"].p, demo_tree()["P2"].p
    assert p1 is not None and p2 is not None
    assert json.loads(done.stdout)["after"] == pytest.approx(p1 * p2)
    kept = run_cli(tmp_path, "scenarios", RUN, "--json").stdout
    assert '"edits": 3' in kept
    for wrong, word in (
        (("--rule", "P0=P1 AND"), "ends too early"),
        (("--rule", "P3=P1 AND P2"), "no drivers below it"),
        (("--report", "P3=missing.md"), "cannot be read"),
        (("--report", "P3"), "NODE=FILE"),
    ):
        refused = run_cli(tmp_path, "whatif", RUN, *wrong)
        assert refused.returncode == 2 and word in refused.stderr, refused.stderr


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"values": {"P1": 1.5}}, "values['P1']"),
        ({"weights": {"P1": 7}}, "from -1 to 1"),
        ({"polarities": {"P1": "maybe"}}, "NODE=Positive or NODE=Negative"),
        ({"add": [("P1",)]}, "PARENT, STATEMENT"),
        ({"nonsense": 1}, "there is no 'nonsense'"),
        ({"rules": {"P0": "P1 AND"}}, "formula"),
    ],
)
def test_what_cannot_be_read_is_one_line(values: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as refused:
        WhatIf.read(values)
    assert words in str(refused.value) and "\n" not in str(refused.value)


def test_no_client_of_another_program_has_a_file_read(tmp_path: Path) -> None:
    """Only what a person types on a command line names a file; a report in MCP is its text."""
    (tmp_path / "secret").write_text("the secret")
    request = EditRequest.read({"reports": {"P1": str(tmp_path / "secret")}})
    assert request.reports["P1"].report == str(tmp_path / "secret")


def test_options_of_one_command_load_no_other_model() -> None:
    code = "import sys, workbench.cli.request_options; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()
    assert not [
        name
        for name in loaded
        if name.startswith(("workbench.engine", "workbench.whatif", "workbench.store"))
    ]
