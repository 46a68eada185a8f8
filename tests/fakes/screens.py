"""A finished run as the engine leaves it, written through the store's own door, with small proof notebooks."""

import io
import math
from base64 import b64encode
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import ipywidgets
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from proxies.ledger import Answer, LedgerRow
from tests.fakes.stored_run import CUTOFF, RunWriter, copied, data_row, write_tree_run
from workbench.engine.run_settings import RunSettings
from workbench.propositions import Belief, Polarity, Tree
from workbench.store import ApiLedger, Store
from workbench.synthesis import LinearRule, settle

RUN = "20180630-120000-5b50"
STATEMENT = "The S&P 500 closes higher on 2018-12-31 than on 2018-06-29"
BASE_RATE = 0.742

LEAVES = {
    "P1.1": (0.71, "Half-year windows since 1999 ended higher in 27 of 38 cases."),
    "P1.2": (0.58, "The 200-day average rose through June; such windows ended higher somewhat more often."),
    "P2.1": (0.5, "Volatility near 16 at the cutoff; the fitted model puts even odds on a calm half-year."),
    "P2.2": (0.33, "Credit spreads widened by 30 basis points since January."),
    "P2.3": (0.22, "Core prices rose 2.2% over the year, above the two years before."),
    "P3": (0.74, "Base rate of half-year gains, all windows since 1999, known at the cutoff."),
}


@cache
def demo_tree() -> Tree:
    """Root, two groups and a reference leaf; the path weight of P2.1 is 0.2, its p 0.5: at 0 the root falls by 0.10."""
    up, down = Polarity.POSITIVE, Polarity.NEGATIVE
    tree = Tree.root_only(STATEMENT).expand(
        "P0",
        {
            "P1": "The price trend of the S&P 500 up to 2018-06-29 continues through the second half of 2018",
            "P2": "Risk conditions stay benign: VIX, credit spreads and core inflation remain near their mid-2018 levels",
            "P3": "The S&P 500 ends a half-year window higher, as in the reference class of all windows since 1999",
        },
        {"P1": up, "P2": up, "P3": up},
        "Trend and risk conditions are drawn from different series; the reference class carries what neither explains.",
    )
    tree = tree.expand(
        "P1",
        {
            "P1.1": "Momentum: the index closes 2018-12-31 above its close of 2017-12-29",
            "P1.2": "The 200-day moving average of the index on 2018-12-31 is above that of 2018-06-29",
        },
        {"P1.1": up, "P1.2": up},
    ).expand(
        "P2",
        {
            "P2.1": "VIX closes at or below 20 on 2018-12-31",
            "P2.2": "The BAA minus AAA credit spread of December 2018 is above 1.10 percentage points",
            "P2.3": "Core CPI rises by more than 2.4% over the twelve months to December 2018",
        },
        {"P2.1": up, "P2.2": down, "P2.3": down},
    )
    for node, (p, key) in LEAVES.items():
        tree = tree.with_belief(node, Belief(p=p, key_factor=key, report=f"The cells compute {p}."))
    report = f'Weights were estimated on the common weekly grid.\n{{"base_rate": {BASE_RATE}}}'
    for node, rule, key in (
        ("P1", LinearRule(0.03, {"P1.1": 0.6, "P1.2": 0.35}), "Momentum carries most of the trend's record."),
        (
            "P2",
            LinearRule(0.1, {"P2.1": 0.8, "P2.2": -0.15, "P2.3": -0.1}),
            "A calm VIX decides; wider spreads count against.",
        ),
        (
            "P0",
            LinearRule(0.02, {"P1": 0.3, "P2": 0.25, "P3": 0.45}),
            "The record of half-year gains outweighs the mixed risk picture.",
        ),
    ):
        words = Belief(p=0.5, key_factor=key, report=report)
        tree = settle(tree.with_rule(node, rule, words))
    return tree


def make_run(
    home: Path, run_id: str = RUN, *, settings: RunSettings | None = None, tree: Tree | None = None
) -> str:
    """Write the run into a data folder and return its id; the offline analyst is its model unless settings say otherwise."""

    def write(folder: Path) -> None:
        _write_run(folder, run_id, settings, tree or demo_tree())

    if settings is None and tree is None:
        copied(home, ("screens", run_id), write)
    else:
        write(home)
    return run_id


def _write_run(home: Path, run_id: str, settings: RunSettings | None, tree: Tree) -> None:
    with closing(Store(home)) as store:
        run = write_tree_run(store, run_id, tree, settings=settings, steps=3)
        ApiLedger(store).record(data_call(run_id, "P2.1"))
        run.finish(tree.root.p)
        proofs = store.folder(run_id) / "proofs"
        proofs.mkdir(parents=True, exist_ok=True)
        for node in tree.leaves():
            notebook = proof_notebook(node, tree[node].statement, *LEAVES[node])
            nbformat.write(notebook, proofs / f"{node}.ipynb")


def data_call(run_id: str, node: str) -> LedgerRow:
    """The one data call of a leaf's proof, in its second code cell."""
    rows = [{"date": "2018-06-28", "value": 16.85}, {"date": "2018-06-29", "value": 16.09}]
    meta = {
        "as_of": "2018-06-30T04:00:00Z",
        "policy": "publication_date",
        "clamped": ["end"],
        "undated": 0,
        "residual": "low",
        "content_hash": "sha256:" + "c" * 64,
    }
    return data_row(
        run_id,
        node,
        rows,
        meta=meta,
        step=1,
        asked={"series_id": "VIX", "end": "2018-12-31"},
        sent=[{"series_id": "VIX", "end": "2018-06-29"}],
        request_hash="sha256:" + "1" * 64,
        audit={"rows_dropped": 127},
    )


#: A made-up series whose first period was published twice, as FRED states vintages.
REVISED_ROWS = [
    {"date": "2016-01-01", "realtime_start": "2016-05-27", "realtime_end": "2017-07-27", "value": "101.5"},
    {"date": "2016-01-01", "realtime_start": "2016-04-28", "realtime_end": "2016-05-26", "value": "100.0"},
    {"date": "2016-04-01", "realtime_start": "2016-07-29", "realtime_end": "9999-12-31", "value": "102.0"},
    {"date": "2016-07-01", "realtime_start": "2016-10-28", "realtime_end": "9999-12-31", "value": "."},
]


def add_revised_call(store: Store, run_id: str = RUN, node: str = "P2.1") -> None:
    """Put a call on a leaf's ledger whose answer is that series."""
    call = data_call(run_id, node)
    assert call.answer is not None
    ApiLedger(store).record(
        replace(
            call,
            address=replace(call.address, step=2),
            answer=Answer(data={"observations": REVISED_ROWS}, meta=call.answer.meta),
            asked={"series_id": "SYNGDP"},
            request_hash="sha256:" + "2" * 64,
        )
    )


def proof_notebook(node: str, statement: str, p: float, key: str) -> nbformat.NotebookNode:
    """A notebook like a grounder's: text, a failed and a mended cell, a figure, a table, a conclusion."""
    cells = [
        new_markdown_cell(
            f"# {node}: {statement}\n\nKnowledge cutoff **{CUTOFF}**. The series is read through the broker."
        ),
        new_code_cell(
            'rows = CALL_API("embedded/series/observations", {"series_id": "SP500"})\nclose = rows["close"]',
            execution_count=1,
            metadata={"tags": ["superseded", "raises-exception"]},
            outputs=[
                new_output(
                    "error",
                    ename="TypeError",
                    evalue="list indices must be integers or slices, not str",
                    traceback=["\x1b[31mTypeError\x1b[0m: list indices must be integers or slices, not str"],
                )
            ],
        ),
        new_code_cell(
            'frame = CALL_API.frame("embedded/series/observations", {"series_id": "SP500"})\nframe.tail(3)',
            execution_count=2,
            outputs=[
                new_output(
                    "execute_result",
                    execution_count=2,
                    data={
                        "text/html": "<style scoped>td{color:red}</style><table><thead><tr><th></th><th>date</th><th>close</th></tr></thead>"
                        "<tbody><tr><th>0</th><td>2018-06-27</td><td>2,699.63</td></tr>"
                        "<tr><th>1</th><td>2018-06-28</td><td>2,716.31</td></tr>"
                        "<tr><th>2</th><td>2018-06-29</td><td>2,718.37</td></tr></tbody></table>",
                        "text/plain": "...",
                    },
                )
            ],
        ),
        new_markdown_cell("The figure shows the close, the threshold and the cutoff."),
        new_code_cell(
            "figure",
            execution_count=3,
            outputs=[
                new_output(
                    "display_data",
                    data={"image/png": b64encode(figure_png()).decode(), "text/plain": "Figure"},
                )
            ],
        ),
        new_code_cell(
            f'print("p =", {p})',
            execution_count=4,
            outputs=[new_output("stream", name="stdout", text=f"p = {p}\n")],
        ),
        new_markdown_cell(f"## Conclusion\n\n{key} The estimate is **{p:.0%}**."),
    ]
    return new_notebook(cells=cells, metadata={"kernelspec": {"name": "analyst", "display_name": "Analyst"}})


@cache
def figure_png() -> bytes:
    """A small chart with title, units, threshold and cutoff line."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5.2, 2.8), dpi=110, layout="constrained")
    axes = figure.subplots()
    values = [2400 + 3 * day + 60 * math.sin(day / 9) for day in range(120)]
    axes.plot(values, color="#1d4f7c", linewidth=1.4)
    axes.axhline(2718.37, color="#a3322a", linewidth=1, linestyle="--", label="close of 2018-06-29")
    axes.axvline(119, color="#667583", linewidth=1, label="cutoff")
    axes.set(title="S&P 500, daily close", ylabel="index points", xlabel="trading days")
    axes.legend(frameon=False, fontsize=8)
    stream = io.BytesIO()
    figure.savefig(stream, format="png")
    return stream.getvalue()


def make_big_run(home: Path, run_id: str = "20180629-120000-6060") -> str:
    """Write a planned run of sixty ungrounded propositions, above the fifty that open unfolded."""
    tree = Tree.root_only("Growth of the euro area exceeds 2% in 2018")
    tree = tree.expand(
        "P0", {f"P{n}": f"Member state {n} contributes as in the year before" for n in range(1, 6)}
    )
    for n in range(1, 6):
        tree = tree.expand(
            f"P{n}", {f"P{n}.{k}": f"Sector {k} of member state {n} grows" for k in range(1, 12)}
        )
    with closing(Store(home)) as store:
        run = RunWriter(store, run_id)
        run.start(tree.root.statement)
        run.plan(tree)
    return run_id


def is_hidden(widget: ipywidgets.Widget) -> bool:
    """Whether a widget of the page was hidden (``fields.show_if``)."""
    return "wb-hidden" in widget._dom_classes


def visible(*widgets: ipywidgets.Widget) -> list[bool]:
    return [not is_hidden(widget) for widget in widgets]


def comm_of(widget: ipywidgets.Widget, comms: list[Any]) -> Any:
    """The channel of a widget, of those that were opened."""
    (comm,) = [each for each in comms if each.comm_id == widget.comm.comm_id]
    return comm


class Shell:
    """As much of IPython as the magics use."""

    def __init__(self) -> None:
        self.user_ns: dict[str, Any] = {}
        self.magics: dict[str, Any] = {}

    def register_magic_function(self, function: Any, kind: str, name: str) -> None:
        self.magics[name] = function


CLAIM = "A treaty is signed by 2027-03-01"


def run_row(
    number: int, p: float | None, *, now: datetime, statement: str = CLAIM, days_ago: float = 1, **more: Any
) -> dict[str, Any]:
    """A row of the list of runs: one that was begun so long ago."""
    started = (now - timedelta(days=days_ago)).isoformat()
    facts = {
        "run_id": f"r{number:03}",
        "statement": statement,
        "p": p,
        "started_utc": started,
        "outcome": None,
    }
    return {**facts, "cutoff": "now", "status": "done", "state": "done", "tags": [], **more}


def asked(form: Any, **typed: Any) -> str:
    """What stands below a form of an operation after its button was pressed with these fields filled in."""
    for name, value in typed.items():
        form.inputs[name].value = value
    form.ask.click()
    form.work.wait()
    return str(form.answer.value)


def agreed(form: Any) -> str:
    """The same after the second click, which agrees to what was said first."""
    form.go_on.click()
    form.work.wait()
    return str(form.answer.value)
