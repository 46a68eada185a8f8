"""One corpus of hostile text, and a finished run that has it in every place a stranger controls.

What runs, sets ``struck`` on its window and on those around it; what fetches, asks a canary server; what covers, leaves its
box; what steers a terminal, holds a control character; what a spreadsheet would run, begins like a formula.
"""

import base64
import csv
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date, timedelta
from pathlib import Path

import orjson

from proxies.asof.clock import Cutoff
from sandbox.record.journal import Journal, read_journal, result_to_json
from sandbox.record.passive import passive_outputs, passive_text
from sandbox.record.session_notebook import render_notebook, write_notebook
from sandbox.types import CellError, CellResult
from tests.command_line import run_process
from tests.fakes.loopback import Quiet, serving
from tests.fakes.screens import figure_png
from tests.fakes.stored_run import CUTOFF, RunWriter
from workbench.engine.new_run import new_run
from workbench.engine.record.fold import load_state
from workbench.engine.run_settings import RunSettings, with_preset
from workbench.packages.package import adopt_tree
from workbench.propositions import Belief, Tree
from workbench.reports.note_page import write_report
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis import LinearRule, settle

RUN = "20180630-120000-bad0"
STRIKE = "self.struck=1;top.struck=1"
#: What a file may be called.
NAME = f"<img src=x onerror={STRIKE}>"
SERVICE = """
source: store
title: {text}
about: {text}
hosts: {{main: 'https://store.example'}}
endpoints:
- path: store/orders
  call: GET main/orders
  about: {text}
  params:
    shop: {{required: true, example: berlin, about: {text}}}
  rows: 'orders[]'
  fields: {{day: {text}, amount: {text}}}
  as_of: {{policy: filter_rows, residual: high, stamp: {{field: day, grain: day}}}}
"""
#: Texts by family and name: what runs or fetches where a page takes it for HTML or Markdown, what runs when somebody presses what
#: it shows, what leaves its box or lies over a neighbour, what steers a terminal, what a spreadsheet takes for a formula.
TEXTS: dict[str, dict[str, str]] = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
COVERING, STEERING, FORMULAS = TEXTS["covering"], TEXTS["steering"], TEXTS["formula"]


def _filled(family: str, canary: str) -> dict[str, str]:
    parts = {
        "@strike@": STRIKE,
        "@canary@": canary,
        "@document@": base64.b64encode(f"<script>{STRIKE}</script>".encode()).decode(),
        "@javascript@": "".join(f"&#{ord(char)};" for char in "javascript:"),
    }
    texts = dict(TEXTS[family])
    for mark, part in parts.items():
        texts = {name: text.replace(mark, part) for name, text in texts.items()}
    return texts


def active(canary: str) -> dict[str, str]:
    """Texts that run or fetch where a page takes them for HTML or Markdown."""
    return _filled("active", canary)


def links(canary: str) -> dict[str, str]:
    """Texts that run when somebody presses what they show."""
    return _filled("link", canary)


#: What an honest author writes beside all that; it has to stay.
HONEST = (
    '<table class="dataframe"><tr><th>year</th><td>2018</td></tr></table><p><b>bold</b> '
    '<a href="https://example.org/source">source</a></p>'
)


def corpus(canary: str) -> dict[str, str]:
    """All of it by name."""
    return {f"{family}: {name}": text for family in TEXTS for name, text in _filled(family, canary).items()}


class _Canary(Quiet):
    def do_GET(self) -> None:
        self.server.asked.append(self.path)  # type: ignore[attr-defined]
        self.send_response(204)
        self.end_headers()

    do_POST = do_HEAD = do_GET


@contextmanager
def canary_server() -> Iterator[tuple[str, list[str]]]:
    """A server on loopback that is to be asked nothing: its address, and what it was asked."""
    asked: list[str] = []
    with serving(_Canary, asked=asked) as address:
        yield address, asked


def whole(text: str) -> str:
    """The text as a file of UTF-8 can hold it: halves of surrogate pairs are question marks, as everywhere in the product."""
    return text.encode("utf-8", "replace").decode()


def hostile_outputs(canary: str) -> list[dict[str, object]]:
    """Outputs of a cell as a kernel can send them, one per text and kind, and an honest table and figure."""
    outputs: list[dict[str, object]] = []
    for text in map(whole, corpus(canary).values()):
        for kind in ("text/html", "text/markdown", "text/latex", "text/plain"):
            outputs.append({"output_type": "display_data", "data": {kind: text}, "metadata": {}})
    together = whole("\n".join(active(canary).values()))
    for kind in ("image/svg+xml", "application/javascript", "image/png", "image/jpeg", "text/x-template"):
        outputs.append(
            {"output_type": "display_data", "data": {kind: together}, "metadata": {kind: {"width": together}}}
        )
    widget = {
        "application/vnd.jupyter.widget-view+json": {"model_id": "x"},
        "application/json": {"a": together},
    }
    outputs.append({"output_type": "display_data", "data": widget, "metadata": {}})
    for stream in ("stdout", "stderr"):
        outputs.append(
            {"output_type": "stream", "name": stream, "text": together + whole("".join(STEERING.values()))}
        )
    outputs.append(
        {
            "output_type": "error",
            "ename": together,
            "evalue": together,
            "traceback": [together, "\x1b[31m" + together],
        }
    )
    picture = {"image/png": base64.b64encode(figure_png()).decode(), "text/plain": "Figure"}
    outputs.append({"output_type": "display_data", "data": {"text/html": HONEST}, "metadata": {}})
    outputs.append({"output_type": "display_data", "data": picture, "metadata": {}})
    return outputs  # fmt: skip


def write_proof(folder: Path, node: str, canary: str, *, passive: bool = True) -> Path:
    """Write a proof's journal and notebook as a session does, all texts hostile; not ``passive``: the sanitiser is off."""
    journal = Journal(folder / "sessions" / f"{node}.1.1.jsonl")
    metadata = {"run": RUN, "node": node, "trial": 1, "attempt": 1, "cutoff": CUTOFF}
    journal.append("open", sync=False, name=f"{node}.1.1", title=node, metadata=metadata)
    for number, text in enumerate(map(whole, corpus(canary).values())):
        source = f"{text}\n\n**bold** [source](https://example.org/source)"
        shown = passive_text(source) if passive else {}
        journal.append("markdown", sync=False, id=f"text-{number:03d}", source=source, shown=shown)
    outputs = hostile_outputs(canary)
    code = whole("\n".join(corpus(canary).values()))
    journal.append("code", sync=False, id="cell-001", source=code, fixes=None)
    error = CellError(ename="E", evalue="v", traceback=())
    result = CellResult(cell_id="cell-001", status="error", error=error, outputs=tuple(outputs))
    shown = passive_outputs(outputs) if passive else {}
    journal.append("result", sync=False, id="cell-001", result=result_to_json(result), shown=shown)
    journal.append("close", sync=False)
    journal.close()
    path = folder / "proofs" / f"{node}.ipynb"
    write_notebook(path, render_notebook(read_journal(journal.path), title=node))
    return path


def hostile_tree(canary: str) -> Tree:
    """A tree in which every text is of the corpus; node ``P1`` and its children have hostile statements and beliefs."""
    texts = [whole(text) for text in corpus(canary).values()]
    groups = [texts[start : start + 20] for start in range(0, len(texts), 20)]
    tree = Tree.root_only(f"{texts[0]} {texts[4]} =1+1 \x1b[31mroot")
    tree = tree.expand("P0", {f"P{n}": f"{group[0]} of group {n}" for n, group in enumerate(groups, 1)})
    for n, group in enumerate(groups, 1):
        tree = tree.expand(
            f"P{n}", {f"P{n}.{k}": f"{text} {k}" for k, text in enumerate(group, 1)}, causality=group[0]
        )
    for leaf, text in zip(tree.leaves(), texts, strict=True):
        tree = tree.with_belief(leaf, Belief(p=0.5, key_factor=text, report=f"{text}\n{HONEST}"))
    for node in (*(f"P{n}" for n in range(1, len(groups) + 1)), "P0"):
        words = Belief(p=0.5, key_factor=texts[0], report=texts[4])
        share = 0.9 / len(tree[node].children)
        tree = settle(
            tree.with_rule(node, LinearRule(0.01, dict.fromkeys(tree[node].children, share)), words)
        )
    return tree  # fmt: skip


def plant_own_data(home: Path, canary: str) -> str:
    """Give a data folder a table, documents, a service and questions whose names, units and texts are of the corpus; return their claim.

    Each is brought in by the command that a person types, so what stands here is what the door lets through.
    """
    text = " ".join(whole(" ".join([*active(canary).values()][:8])).split())
    folder = home.parent / "own"
    (folder / "papers").mkdir(parents=True)
    table = folder / f"rows {NAME}.csv"
    days = [date(2015, 1, 2) + timedelta(days=7 * week) for week in range(190)]
    with table.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["day", NAME])
        rows.writerows([day, 100 + number % 7 + number / 10] for number, day in enumerate(days))
    (folder / "papers" / f"2017-05-03 {NAME}.md").write_text(
        f"# {text}\n\n{text}\n\n[press](javascript:{STRIKE})\n"
    )
    (folder / "service.yaml").write_text(SERVICE.format(text=orjson.dumps(text).decode()))
    with (folder / "asked.csv").open("w", newline="") as file:
        csv.writer(file).writerows(
            [["id", "title", "asked_on"], ["a", text, "2018-06-01"], ["b", NAME, "2018-06-01"]]
        )
    for words in (
        ("source", "add", "planted", str(table), "--date", "day", "--value", NAME, "--lag", "1d", "--unit", text, "--yes"),
        ("source", "add-documents", "papers", str(folder / "papers"), "--dated", "filename", "--yes"),
        ("source", "add", "store", str(folder / "service.yaml"), "--yes"),
        ("questions", "import", str(folder / "asked.csv")),
        ("analyze", "own:planted is above 100 on 2018-12-31", "--cutoff", "2018-06-30", "--max-leaves", "2"),
    ):  # fmt: skip
        done = run_process(home.parent, *words)
        if done.returncode:
            raise RuntimeError(f"{words[:3]}: {done.stderr[-500:]}")
    with closing(Store(home)) as store:
        for claim in active(canary).values():
            adopt_tree(store, Tree.root_only(whole(claim)), cutoff="2018-06-30", package="sha256:" + "0" * 64)
        failed = new_run(
            store,
            f"It rains by 2019-01-01 {NAME}",
            Cutoff.parse("2018-06-30"),
            with_preset("product", model=NAME),
        )
        store.append(failed, ev.RunStopped(why="failure", detail=text))
        return next(run for run in store.run_ids() if "own:planted" in load_state(store, run).statement)


def make_hostile_run(home: Path, canary: str) -> str:
    """Write a finished run whose every text is hostile into a data folder, with one proof, and return its id."""
    tree = hostile_tree(canary)
    name = whole(" ".join(list(active(canary).values())[:6]))
    with closing(Store(home)) as store:
        run = RunWriter(store, RUN)
        run.start(tree.root.statement, settings=RunSettings(model=name))
        run.seal()
        run.plan(tree)
        write_proof(store.folder(RUN), "P1.1", canary)
        for node in tree.leaves():
            belief = tree[node].belief
            assert belief is not None
            run.append(ev.LeafStarted(node=node, trial=1, attempt=1))
            run.append(ev.LeafFailed(node=node, trial=1, attempt=1, reason=belief.key_factor, final=False))
            run.ground(node, belief, attempt=2)
        run.finish(tree.root.p)
        for number, text in enumerate(map(whole, corpus(canary).values())):
            record = {
                "action": "open",
                "scenario": f"{text} {number}",
                "author": text,
                "at": "2026-01-01T00:00:00+00:00",
                "base_seq": None,
                "edit": None,
                "rationale": text,
                "probability": None,
            }
            store.append(RUN, ev.ScenarioRecorded(record=record))
        for text in map(whole, corpus(canary).values()):
            store.append(RUN, ev.CommentAdded(node="P1.1", text=text, author=text))
            store.append(RUN, ev.NoteAdded(text=text, tags=(text,), author=text))
        store.append(RUN, ev.OutcomeRecorded(p=0.0, day="2018-12-31", author=name))
        zero = "sha256:" + "0" * 64
        signed = {"head": "0" * 64, "tree": zero, "comments": zero, "attested": zero}
        store.append(RUN, ev.ReviewSigned(author=name, verdict="accept", checklist={name: True}, **signed))
        write_report(store, load_state(store, RUN))
    return RUN  # fmt: skip
