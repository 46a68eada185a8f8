"""A text of ten megabytes, wherever a run has room for one, costs every screen and file time in proportion to it."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.command_line import run_cli, run_json
from tests.fakes.processor_time import processor_seconds
from tests.fakes.stored_run import RunWriter
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings
from workbench.packages.export import export_run
from workbench.propositions import Belief, Tree
from workbench.reports.note_page import report_html
from workbench.store import Store
from workbench.synthesis import LinearRule, resynthesize, settle
from workbench.synthesis.coherence.findings import find_nested
from workbench.views.run_view import view
from workbench.widgets import panels
from workbench.widgets.tree_widget import tree_html

pytestmark = pytest.mark.long

RUN = "20180630-120000-10e6"
#: Of processor time for each megabyte. Linear work takes up to 1.5; what is quadratic in a million letters takes minutes.
SECONDS = 5
#: One text each of what is dear to some parser: words, one word, tags, brackets, control characters, lines, formulas.
TEXTS = {
    "words": "evidence and more of it ",
    "one word": "x",
    "tags": "<div><b>",
    "brackets": "[![(",
    "control characters": "\x1b[31m\u202e",
    "lines": "=1+1\n",
}


def make_run(home: Path, text: str) -> None:
    """A finished run of one rule whose statement, report, key factor and causality are this text."""
    tree = Tree.root_only(f"The claim {text}").expand(
        "P0", {"P1": f"One {text}", "P2": "Two"}, causality=text
    )
    for leaf in ("P1", "P2"):
        tree = tree.with_belief(leaf, Belief(p=0.5, key_factor=text, report=text))
    words = Belief(p=0.5, key_factor=text, report=text)
    tree = settle(tree.with_rule("P0", LinearRule(0.01, {"P1": 0.4, "P2": 0.5}), words))
    with closing(Store(home)) as store:
        run = RunWriter(store, RUN)
        run.start(tree.root.statement, settings=RunSettings(model="offline"))
        run.seal()
        run.plan(tree)
        for leaf in ("P1", "P2"):
            run.ground(leaf, Belief(p=0.5, key_factor=text[:1000], report=text))
        run.finish(tree.root.p)


def screens(place: Path) -> dict[str, Callable[[], object]]:
    """Every screen and every file of a run."""
    store = Store(place / "home")
    shown: dict[str, Callable[[], object]] = {
        " ".join(words): lambda words=words: run_cli(place, *words)
        for words in (
            ("show", RUN),
            ("show", RUN, "--json"),
            ("runs",),
            ("audit", RUN),
            ("decide", RUN),
            ("sensitivity", RUN),
            ("coherence",),
        )
    }
    shown |= {
        "report": lambda: report_html(store, load_state(store, RUN)),
        "tree": lambda: tree_html(load_state(store, RUN).tree),
        "close": store.close,
    }
    for form in ("csv", "html", "ipynb", "json"):
        shown = {f"export {form}": lambda form=form: export_run(store, RUN, form), **shown}
    return shown


def test_screens_for_people_are_bounded_and_say_what_was_cut_and_exports_are_whole(tmp_path: Path) -> None:
    text = "evidence and more of it " * 10_000
    make_run(tmp_path / "home", text)
    for words in (("show", RUN), ("runs",), ("decide", RUN), ("sensitivity", RUN), ("coherence",)):
        done = run_cli(tmp_path, *words)
        assert done.returncode == 0 and len(done.stdout) < 60_000, words
        lines = [line for line in done.stdout.splitlines() if "cut here: " in line]
        assert 1 <= len(lines) <= 4 and all("--json has them" in line for line in lines), words
    assert text.strip() in run_json(tmp_path, "show", RUN)["statement"]
    with closing(Store(tmp_path / "home")) as store:
        state = load_state(store, RUN)
        for page in (
            report_html(store, state),
            tree_html(state.tree),
            panels.header(view(store, RUN).document(), resynthesize(state.tree, {}), 0, None),
        ):
            assert len(page) < 1_500_000 and "cut here: " in page
        assert text.encode() in export_run(store, RUN, "csv")[0].replace(b'""', b'"')


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("name", "megabytes"),
    [("lines", 0.3), *(pytest.param(name, 10, marks=pytest.mark.soak) for name in TEXTS)],
)
def test_a_long_text_costs_every_screen_time_in_proportion(
    name: str, megabytes: float, tmp_path: Path
) -> None:
    make_run(tmp_path / "home", TEXTS[name] * int(megabytes * 1_000_000 / len(TEXTS[name])))
    bound = SECONDS * max(megabytes, 0.5)
    took = {screen: processor_seconds(show, below=bound) for screen, show in screens(tmp_path).items()}
    assert {screen: seconds for screen, seconds in took.items() if seconds >= bound} == {}


def test_a_long_statement_of_numbers_is_not_compared_and_its_short_neighbours_are() -> None:
    short = {"a": "The VIX closes above 20", "b": "The VIX closes above 15"}
    long = {key: f"{text} {'=1+1 ' * 4000}" for key, text in short.items()}
    assert (
        processor_seconds(lambda: find_nested(long), below=5) < 5
    )  # minutes where each number costs a look at all of it
    assert find_nested(long) == []
    assert [group.ids for group in find_nested(short)] == [("a", "b")]
