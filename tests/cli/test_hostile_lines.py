"""The hostile corpus on the terminal and in files for spreadsheets: no control character, no formula, nothing lost."""

import csv
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench.cli
from tests.command_line import run_cli
from tests.fakes.hostile_text import FORMULAS, RUN, STEERING, corpus, hostile_tree, make_hostile_run
from workbench.cli.common import say
from workbench.spreadsheet import csv_text, guard_formula, unguard_formula
from workbench.synthesis.exchange.tree_formats import export_tree, import_tree
from workbench.terminal import json_printable, printable

CANARY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    make_hostile_run(folder / "home", CANARY)
    return folder


def steers(text: str) -> set[str]:
    """The characters of a text that a terminal obeys."""
    return {char for char in text if not char.isprintable() and char not in "\n\t"}


def texts(value: object) -> str:
    """All texts in a document, one after the other."""
    if isinstance(value, dict):
        return "".join(map(texts, value.values()))
    return "".join(map(texts, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


COMMANDS = (
    ("show", RUN),
    ("runs",),
    ("audit", RUN),
    ("scenarios", RUN),
    ("sensitivity", RUN),
    ("decide", RUN),
    ("coherence", RUN),
    ("whatif", RUN, "--set", "P1.1=0.9"),
    ("verify", RUN),
    ("transcript", RUN),
    ("grounders", RUN),
)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_nothing_a_command_prints_steers_the_terminal(place: Path, command: tuple[str, ...]) -> None:
    done = run_cli(place, *command)
    assert steers(done.stdout + done.stderr) == set() and (done.stdout or done.stderr)
    assert "Traceback" not in done.stderr
    assert not any(line.startswith("verified: 9") for line in done.stdout.splitlines()), (
        "a line of a stranger's"
    )


@pytest.mark.parametrize("command", [("show", RUN), ("runs",), ("scenarios", RUN)], ids=" ".join)
def test_json_on_the_terminal_has_the_same_values_and_steers_nothing(
    place: Path, command: tuple[str, ...]
) -> None:
    done = run_cli(place, *command, "--json")
    assert steers(done.stdout) == set()
    shown = texts(json.loads(done.stdout))
    assert "\\u001b" in shown and steers(shown) == set()  # the log itself gives it out as text


def test_a_message_steers_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for text in STEERING.values():
        say(text)
    assert steers(capsys.readouterr().err) == set()


@given(st.text(st.characters(codec=None, exclude_categories=())))
def test_what_is_printed_is_printable_and_honest_text_stays(text: str) -> None:
    shown = printable(text)
    assert steers(shown) == set() and printable(shown) == shown
    shown.encode()
    honest = "".join(char for char in text if char.isprintable())
    assert printable(honest) == honest


@given(st.text(st.characters(exclude_categories=("Cs",))))
def test_json_for_the_terminal_is_the_same_json(text: str) -> None:
    document = json.dumps({"a": text}, ensure_ascii=False, indent=2)
    shown = json_printable(document)
    assert json.loads(shown) == {"a": text} and steers(shown) == set()


def test_the_traceback_of_a_bug_steers_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("\n".join(STEERING.values()))

    monkeypatch.setattr("workbench.views.run_overview.listed_runs", broken)
    done = run_cli(place, "runs")
    assert done.returncode == 1 and "Traceback" in done.stderr and "RuntimeError" in done.stderr
    assert steers(done.stdout + done.stderr) == set()


def test_help_steers_nothing_whatever_is_installed_and_however_the_program_is_called(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hostile = "".join(STEERING.values())
    for command in ((), ("analyze",), ("call",), ("keys",), ("keys", "trust"), ("exam", "build")):
        done = run_cli(place, *command, "--help", COLUMNS="100", WORKBENCH_HOME=hostile.replace("\0", ""))
        assert done.returncode == 0 and "Usage: workbench" in done.stdout
        assert steers(done.stdout + done.stderr) == set()
    for words in (
        (hostile,),
        ("show", f"--{hostile}"),
        ("show", "--home", hostile),
        ("noise", RUN, "--level", hostile),
    ):
        done = run_cli(place, *words)
        assert done.returncode == 2 and steers(done.stdout + done.stderr) == set()


def test_no_command_prints_past_the_one_door() -> None:
    folder = Path(workbench.cli.__file__).parent
    past = [
        f"{path.name}: {line.strip()}"
        for path in folder.rglob("*.py")
        for line in path.read_text().splitlines()
        if re.search(r"typer\.echo|click\.echo|\bprint\(|std(out|err)\.write\(", line)
        and "printable(" not in line
    ]
    # words and an address of ours, and texts that were made printable before; `json_text` does it itself
    assert set(past) == {
        'common.py: sys.stdout.write(json_for(json_text(value, indent=True), sys.stdout.encoding) + "\\n")',
        'entry.py: sys.stderr.write("workbench: stopped by hand\\n")',
        'entry.py: sys.stdout.write(f"analyst-workbench {__version__}\\n")',
        'manual_server.py: sys.stdout.write(f"http://{HOST}:{server.server_port}/\\n")',
        'serve.py: sys.stdout.write(url + "\\n")',
        'mcp.py: sys.stdout.write(json.dumps({"url": url, "token": token}) + "\\n")',
        "table.py: console.print(table)",
        'table.py: sys.stdout.write("  ".join(cells).rstrip() + "\\n")',
    }


@pytest.mark.parametrize("name", FORMULAS)
def test_no_text_of_a_science_file_is_a_formula(name: str) -> None:
    text = csv_text(["a", "b"], [[FORMULAS[name], -0.5], ["honest", None]])
    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert not rows[1][0].lstrip(" \n").startswith(("=", "+", "-", "@", "\t", "\r", "\uff1d"))
    assert unguard_formula(rows[1][0]) == FORMULAS[name]
    assert rows[1][1] == "-0.5" and rows[2] == ["honest", ""], "numbers and honest words stay as they are"


@given(st.text())
def test_a_guarded_cell_is_no_formula_and_comes_back(text: str) -> None:
    cell = guard_formula(text)
    assert not cell.startswith(tuple("=+-@\t\r"))
    assert unguard_formula(cell) == text


@pytest.mark.parametrize("text", ["\n=1+1", "  @SUM(1)", "\n \n-1", "'\n=1+1"])
def test_a_formula_after_spaces_and_line_feeds_is_guarded(text: str) -> None:
    assert guard_formula(text) == f"'{text}" and unguard_formula(f"'{text}") == text


def test_line_ends_of_every_kind_are_lines() -> None:
    assert printable("a\r\nb\rc\x0bd\u2028e\x85f") == "a\nb\nc\nd\ne\nf"


def test_a_trees_csv_holds_the_corpus_and_no_formula() -> None:
    tree = hostile_tree(CANARY)
    text = export_tree(tree, "csv").text
    for row in csv.reader(io.StringIO(text, newline="")):
        assert not any(cell.startswith(("=", "+", "-", "@", "\t", "\r")) for cell in row)
    assert import_tree(text).to_json() == tree.to_json()
    assert len(corpus(CANARY)) >= 90
