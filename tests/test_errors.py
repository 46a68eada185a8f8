"""What mends an error is data in it, and each face words it in its own terms."""

import ast
import inspect
import pickle
import re
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from proxies.errors import SchemaDrift
from proxies.remedies import reworded
from sandbox.errors import IsolationUnavailable
from sandbox.types import IsolationReport
from workbench.api.python_terms import CALLS, KEYWORDS, python_terms
from workbench.cli.commands import COMMANDS
from workbench.errors import Command, Option, UsageError, command, option_text, sentence
from workbench.mcp.mcp_terms import ARGUMENTS, TOOLS, for_client, line_for_client, mcp_terms
from workbench.mcp.mcp_tools import tools
from workbench.packages.package import PackageAltered
from workbench.questions.errors import ClaimRefused
from workbench.questions.grammar import read_claim
from workbench.science.errors import TableError
from workbench.store import Store, UnknownRun
from workbench.widgets.page_terms import BUTTONS, FIELDS, line_on_page, on_page, page_terms

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize(
    "remedy",
    [
        command("resume", "R1"),
        command("show", "R1", all=True),
        Command("whatif", ("R1",), (("set", "P1=0.5"), ("set", "P2.1=-0.25"), ("scenario", "NAME"))),
        Option("budget_usd"),
        Option("weight", "P1.2=-0.2"),
        Option("price", "MODEL=IN,OUT,CACHED"),
        Option("model", "PROVIDER/NAME"),
        Option("trials", "2"),
        Option("budget_usd", "0.5"),
    ],
)
def test_a_stored_line_is_read_back_into_what_mends_it(remedy: Any) -> None:
    """The log holds a line in the words of a shell, also of runs before this; a face reads them back."""
    seen = []
    line = reworded(sentence("why: ", remedy, ", then go on"), lambda found: seen.append(found) or "HERE")  # type: ignore[func-returns-value]
    assert (line, seen) == ("why: HERE, then go on", [remedy])


def test_a_stored_line_on_two_faces() -> None:
    stored = "P1 failed for good (x); 0 of 1 drivers have theirs: `workbench resume R1` tries the rest again"
    assert line_on_page(stored).endswith("have theirs: the button Resume tries the rest again")
    assert line_for_client("used up: --budget-usd") == "used up: `--budget-usd` on the analyst's command line"
    assert line_on_page("nothing -- to say--here `workbench") == "nothing -- to say--here `workbench"


def test_one_error_in_the_terms_of_four_faces() -> None:
    error = UsageError(
        "P1 has no value yet: ", command("resume", "R1"), " grounds it; or ", Option("budget_usd", "5")
    )
    assert str(error) == "P1 has no value yet: `workbench resume R1` grounds it; or --budget-usd 5"
    error.terms = python_terms
    assert str(error) == "P1 has no value yet: wb.resume('R1') grounds it; or budget_usd='5'"
    assert on_page(error) == (
        'P1 has no value yet: the button Resume grounds it; or the field "budget in dollars" (5)'
    )
    assert for_client(error) == (
        "P1 has no value yet: `workbench resume R1` on the analyst's command line grounds it; or `--budget-usd 5` on the"
        " analyst's command line"
    )
    assert [remedy.name for remedy in error.remedies] == ["resume", "budget_usd"]
    assert str(pickle.loads(pickle.dumps(UsageError("a ", command("runs"))))) == "a `workbench runs`"


@pytest.mark.parametrize(
    ("remedy", "python"),
    [
        (command("reground", "R", "P1"), "analysis.reground('P1')"),
        (command("import", "a.zip", review=True), "analysis.take_review('a.zip')"),
        (command("resume", "R", yes=True), "wb.resume('R', rebuy=True)"),
        (command("keys new"), "`workbench keys new` in a shell"),
        (Option("strict", True), "strict=True"),
        (Option("rule"), "rule="),
    ],
)
def test_a_remedy_in_python(remedy: Any, python: str) -> None:
    assert python_terms(remedy) == python


def test_a_refused_claim_and_table_are_told_in_the_terms_of_python(tmp_path: Path) -> None:
    with pytest.raises(ClaimRefused, match="--model PROVIDER/NAME") as caught:
        read_claim("The moon is made of cheese")
    caught.value.terms = python_terms
    assert "set a real model with model='PROVIDER/NAME' (api_base='URL')" in str(caught.value)
    table = TableError("f.csv", "it holds trials, which ", Option("pool"), " makes into forecasts", row=3)
    altered = PackageAltered(tmp_path / "a.zip", [])
    table.terms = altered.terms = python_terms
    assert str(table) == "f.csv, row 3: it holds trials, which pool= makes into forecasts"
    assert "wb.import_run(" in str(altered) and "anyway=True" in str(altered)


def test_what_the_page_lacks_is_said_as_what_to_type() -> None:
    assert page_terms(command("keys new")) == "`workbench keys new` on the command line"
    assert page_terms(Option("payoff")) == "`--payoff` on the command line"
    assert option_text("to", "a b") == "--to 'a b'"


@pytest.mark.parametrize(
    ("remedy", "tool"),
    [
        (command("show", "R1"), "the tool read_tree with run='R1'"),
        (command("verify", "R1", "P2"), "the tool verify with run='R1', node='P2'"),
        (command("runs"), "the tool list_runs"),
        (command("show", "R1", record=True), "`workbench show R1 --record` on the analyst's command line"),
        (Option("set", "P1=P"), "the argument set (P1=P)"),
    ],
)
def test_a_remedy_in_mcp(remedy: Any, tool: str) -> None:
    assert mcp_terms(remedy) == tool


def test_every_tool_and_argument_of_a_remedy_exists() -> None:
    table = tools()
    for tool, *arguments in TOOLS.values():
        assert {*arguments} <= {*table[tool].arguments.model_fields}, tool
    assert {*ARGUMENTS} <= {name for tool in table.values() for name in tool.arguments.model_fields}


def test_errors_of_the_sandbox_and_of_data_are_worded_by_the_face_that_shows_them() -> None:
    with pytest.raises(IsolationUnavailable, match="run without a sandbox: --isolation none") as caught:
        IsolationReport(level="none", available=()).choose(None)
    caught.value.terms = python_terms
    assert str(caught.value).endswith("run without a sandbox: isolation='none'")
    drift = SchemaDrift("no date; see ", command("doctor", live=True))
    assert drift.reason == str(drift) == "no date; see `workbench doctor --live`"
    assert str(pickle.loads(pickle.dumps(drift))) == str(drift)
    assert for_client(drift).endswith("on the analyst's command line")


@cache
def remedies() -> list[tuple[str, set[str]]]:
    """(command, options) of every remedy in the source."""
    named = []
    for path in (
        path for room in ("workbench", "proxies", "sandbox") for path in (ROOT / room).rglob("*.py")
    ):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(ast.Name("command"), [ast.Constant(str(name)), *_], keywords):
                    named.append((name, {str(word.arg) for word in keywords}))
    return named


def test_every_command_of_a_remedy_exists() -> None:
    named = remedies()
    assert len(named) > 20
    assert {name.partition(" ")[0] for name, _options in named} <= set(COMMANDS)


def test_every_call_and_keyword_of_a_remedy_exists() -> None:
    for call in CALLS.values():
        owner: Any = wb if call.startswith("wb.") else wb.Analysis
        assert callable(getattr(owner, call.partition(".")[2])), call
    for name, options in remedies():
        if name in CALLS and not options & {"all", "live", "record", "review"}:
            owner = wb if CALLS[name].startswith("wb.") else wb.Analysis
            signature = inspect.signature(getattr(owner, CALLS[name].partition(".")[2]))
            known = set(signature.parameters)
            keywords = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
            assert keywords or {KEYWORDS.get(option, option) for option in options} <= known, (name, options)


def test_the_buttons_and_fields_of_the_page_are_there() -> None:
    widgets = "\n".join(
        path.read_text("utf-8")
        for path in (ROOT / "workbench" / "widgets").rglob("*")
        if path.suffix in {".py", ".js", ".j2"} and path.name != "page_terms.py"
    )
    for words in BUTTONS.values():
        label = words.partition(",")[0].removeprefix("the button ").removeprefix("the page ").strip('"')
        assert re.search(rf'["\'>]{re.escape(label)}["\'<]', widgets), words
    for words in FIELDS.values():
        assert re.findall(r'"(.+?)"', words)[0].lower() in widgets.lower(), words


def test_python_names_python(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path))
    with pytest.raises(UnknownRun, match=r"wb\.runs\(\) lists them"):
        wb.open_run("nope")
    with closing(Store(tmp_path)) as store, pytest.raises(UnknownRun, match="`workbench runs` lists them"):
        store.resolve_run("nope")  # the same error at the command line's door
