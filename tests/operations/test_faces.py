"""An operation is written once: a stranger's is a command, a function of Python and a tool, and ours are what the stubs say."""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import workbench as wb
from tests.command_line import run_cli
from tests.mcp.clients import answer, connected
from tests.test_stranger_package import PACKAGE, package
from workbench.api import signatures
from workbench.cli.commands import places, target_of
from workbench.engine.named_settings import read_prices
from workbench.errors import UsageError
from workbench.operations.base import Operation
from workbench.operations.blocks import Drawing, Facts, Remark, Table, blocks_of, columns, html_of
from workbench.reference import reference_pages
from workbench.requests import Setting, fields_of
from workbench.widgets.home_page import Home
from workbench.widgets.operation_form import OperationForm

__all__ = ["package"]
ANSWER = {"until": "2018-06-30", "rows": [{"name": "rain", "p": 4 / 12, "folder": "home"}]}


@pytest.fixture
def installed(package: Callable[[], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    monkeypatch.setenv("WORKBENCH_HOME", str(tmp_path / "home"))
    return tmp_path


def test_a_strangers_operation_is_a_command(installed: Path) -> None:
    home, path = installed, {"PYTHONPATH": str(PACKAGE)}
    asked = run_cli(home, "base-of", "rain", "--hits", "3", "--json", **path)
    assert asked.returncode == 0 and json.loads(asked.stdout) == ANSWER, asked.stderr
    plain = run_cli(home, "base-of", "rain", "--hits", "11", "--note", "mind the gap", **path)
    assert plain.returncode == 6 and "100.0%" in plain.stdout and "mind the gap" in plain.stderr
    assert "counting rain" in plain.stderr and "mind" not in plain.stdout
    assert "How often it came true." in run_cli(home, "base-of", "--help", **path).stdout
    assert "base-of" in run_cli(home, "--help", **path).stdout


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("rain", "--hits", "many"), "--hits"),
        (("rain", "--hits", "-1"), "--hits"),
        (("rain", "--hits", "3", "--until", "30.6."), "--until"),
        (("rain",), "--hits"),
        (("--hits", "3"), "name"),
    ],
)
def test_bad_input_is_one_line_that_names_the_option(
    installed: Path, words: tuple[str, ...], names: str
) -> None:
    done = run_cli(installed, "base-of", *words, PYTHONPATH=str(PACKAGE))
    assert done.returncode == 2 and names in done.stderr and "Traceback" not in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 and done.stdout == ""


def test_a_strangers_operation_is_a_function_that_a_notebook_shows(installed: Path) -> None:
    found = wb.base_of("rain", hits=3)
    assert found == ANSWER
    assert "33.3%" in found._repr_html_() and found.frame().chance.tolist() == ["33.3%"]
    assert "How often it came true." in (wb.base_of.__doc__ or "")
    for wrong, words in (({"hits": -1}, "hits"), ({"hits": 1, "off": 2}, "off"), ({}, "hits")):
        with pytest.raises((UsageError, TypeError), match=words):
            wb.base_of("rain", **wrong)
    with pytest.raises(AttributeError):
        wb.base_off  # noqa: B018


def test_a_strangers_operation_is_a_tool_without_what_is_a_persons_alone(installed: Path) -> None:
    async def asked() -> None:
        async with connected(installed / "home", "2018-06-30") as client:
            good, text = await answer(client, "base_of", name="rain", hits=3)
            assert good and json.loads(text) == ANSWER
            for more in ({"note": "x"}, {"cutoff": "now"}, {"hits": -2}):
                assert not (await answer(client, "base_of", **{"name": "rain", "hits": 3, **more}))[0]

    asyncio.run(asked())


def test_a_strangers_operation_is_a_form_of_the_page_and_a_command_of_the_manual(installed: Path) -> None:
    page = Home(installed / "home", environ={})
    page.poller.stop()
    page.more.content.which.value = "base-of"
    form = page.more.content.form("base-of")
    form.inputs["name"].value, form.inputs["hits"].value = "rain", "many"
    form.ask.click()
    assert "hits: a whole number" in form.answer.value
    form.inputs["hits"].value = "3"
    form.ask.click()
    form.work.wait()
    assert "counting rain" in form.answer.value and "go on?" in form.answer.value
    form.go_on.click()
    form.work.wait()
    assert "33.3%" in form.answer.value and form.inputs["name"].value == "rain"
    (text,) = [text for place, text in reference_pages().items() if "packages" in place]
    assert "base-of" in text and "How often it came true." in text


def test_the_stubs_say_what_the_functions_take() -> None:
    folder = signatures.HERE
    for name, text in signatures.stubs().items():
        assert (folder / name).read_text() == text, "run python -m workbench.api.signatures"


def own_operations() -> list[type[Operation]]:
    targets = map(target_of, dict.fromkeys(places()))
    return [each for each in targets if isinstance(each, type)]


@pytest.mark.parametrize("operation", own_operations(), ids=lambda each: each.__name__)
def test_no_number_is_nan_no_budget_below_0_and_no_count_below_1(operation: type[Operation]) -> None:
    """No sum is above NaN: as a budget or a cap it would bound nothing."""
    for each in fields_of(operation):
        wrong = ["nan"] if each.bare is float else []
        if each.name == "budget_usd" and not isinstance(each.says, Setting):
            wrong.append("-1")
        if each.name in ("most", "limit", "queries", "questions", "k") and each.bare is int:
            wrong += ["0", "-1"]
        for text in wrong:
            with pytest.raises(ValidationError, match=each.name):
                operation.model_validate({each.name: text})


@pytest.mark.parametrize("price", ["nan,1", "1,-1", "1", "1,inf", "1,1,1,1", ""])
def test_a_price_is_of_dollars(price: str) -> None:
    with pytest.raises(UsageError, match="write MODEL=IN,OUT"):
        read_prices([f"openai/x={price}"])


@pytest.mark.parametrize("operation", own_operations(), ids=lambda each: each.__name__)
def test_every_operation_is_a_form_that_asks_for_what_is_needed(
    operation: type[Operation], tmp_path: Path
) -> None:
    form = OperationForm(operation, tmp_path, "Ask")
    needed = [each for each in fields_of(operation) if each.required]
    assert {*form.labels} == {each.name for each in fields_of(operation)}
    if needed:
        form.ask.click()
        assert 'role="alert"' in form.answer.value and any(each.name in form.answer.value for each in needed)
    for each in fields_of(operation):
        shown = form.inputs[each.name].value
        assert shown == each.default or str(shown) == str(each.default) or not (shown or each.default is True)


@pytest.mark.parametrize("operation", own_operations(), ids=lambda each: each.__name__)
def test_every_field_is_described_and_every_name_is_a_field(operation: type[Operation]) -> None:
    fields = {each.name for each in fields_of(operation)}
    assert fields == {*operation.model_fields}
    named = {*operation.places, *operation.joined, *(operation.short or ())}
    assert named <= fields | {"k", "source", "model"} and (operation.__doc__ or "").strip()
    assert {*operation.unlisted} <= fields | {"audit"} and not {*operation.unlisted} & {
        *(operation.short or ())
    }


@pytest.mark.parametrize("operation", own_operations(), ids=lambda each: each.__name__)
def test_set_reaches_every_field_without_an_option(operation: type[Operation]) -> None:
    for name, each in operation.set_fields().items():
        with pytest.raises(UsageError, match=rf"^--set {each.word}"):
            operation.typed([f"{name}="])
    if any(each.option == "--set" for each in fields_of(operation)):
        return  # what no field has may be a setting of the run
    with pytest.raises(UsageError) as refused:
        operation.typed(["no_such_setting=1"])
    assert "no_such_setting" in str(refused.value) and all(
        name in str(refused.value) for name in operation.set_fields()
    )


def test_one_operation_imports_no_other() -> None:
    code = (
        "import sys, workbench.operations.quantity;"
        "print(*sorted(name for name in sys.modules if name.startswith('workbench.operations.')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert {name.rpartition(".")[2] for name in done.stdout.split()} == {
        "base",
        "blocks",
        "fields",
        "quantity",
    }


class _Texts(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


_TEXT = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=12)


@given(
    st.lists(st.fixed_dictionaries({"a": _TEXT, "p": st.floats(0, 1), "n": st.integers()}), min_size=1), _TEXT
)
def test_html_holds_every_value_and_no_mark_up_of_a_stranger(
    rows: list[dict[str, object]], said: str
) -> None:
    blocks = [
        *blocks_of({"rows": rows, "said": said}),
        columns(rows, name="a", chance="p %"),
        Remark(said),
        Drawing([said]),
    ]
    page = _Texts()
    page.feed(html_of(blocks))
    assert page.tags <= {"table", "thead", "tbody", "tr", "th", "td", "p", "pre", "small"}
    assert {str(row["a"]) for row in rows[:100]} <= {*page.texts} and said in page.texts


def test_a_document_without_words_of_its_own_is_shown_whole() -> None:
    document = {
        "run_id": "r",
        "spread": {"low": 0.1},
        "names": ["x", "y"],
        "rows": [{"a": 1, "b": None}],
        "summary": "fine",
    }
    facts, table, summary = blocks_of(document)
    assert facts == Facts([("run id", "r"), ("spread: low", 0.1), ("names", "x"), ("", "y")])
    assert table == Table(["rows: a"], [[1]]) and summary == "fine"
