"""Tables of ``workbench grounders``: cost and later Brier score by grounder, and whether pooling several paid."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.command_line import run_cli, run_json
from tests.fakes.small_run import RUN, make_small_run
from tests.synthesis.strategies import linear_trees, with_leaves
from workbench.audit.routes import bias_table, record_table, together
from workbench.engine.leaves.own_record import ResolvedLeaf
from workbench.propositions import Tree
from workbench.science.comparing.mean_intervals import loss_interval
from workbench.store import Store
from workbench.store import events as ev
from workbench.synthesis.sensitivity.paths import path_weights

LEAF = ResolvedLeaf(
    run_id="a", node="P1", trials=(0.7,), dead=0, parts=(("search", 0.9), ("statistical", 0.4)), outcome=1.0, day="2018-01-01", cost_usd=0.02
)  # fmt: skip


def test_record_has_an_interval_over_clusters_and_says_how_many() -> None:
    leaves = [
        LEAF,
        replace(LEAF, node="P2"),
        replace(LEAF, run_id="b", parts=(("search", 0.5),), trials=(0.5,)),
    ]
    table = record_table(leaves)
    # errors 0.01, 0.01 in one run and 0.25 in the other
    assert table["search"]["brier"] == pytest.approx(0.09) and table["search"]["runs"] == 2
    assert table["statistical"]["runs"] == 1
    assert table["search"]["interval"] is None and table["statistical"]["interval"] is None
    # of six runs the interval is that of any mean loss, here of five errors of 0.01 and one of 0.25
    many = [replace(LEAF, run_id=name) for name in "cdef"] + leaves[1:]
    (row,) = [record_table(many)["search"]]
    assert (
        row["interval"] == pytest.approx(loss_interval([0.01] * 5 + [0.25], range(6)))
        and row["clusters"] == 6
    )
    # six runs of one claim are one cluster
    again = record_table([replace(leaf, claim="The VIX is above 15 on 2018-07-09") for leaf in many])[
        "search"
    ]
    assert (again["runs"], again["clusters"], again["interval"]) == (6, 1, None)


def test_pooling_is_compared_with_its_parts() -> None:
    (row,) = together([LEAF, replace(LEAF, outcome=0.0), replace(LEAF, parts=(("search", 0.9),))])
    assert row["grounders"] == "search + statistical" and row["n"] == 2
    assert row["brier"] == pytest.approx((0.09 + 0.49) / 2)
    assert row["parts"] == pytest.approx(((0.01 + 0.36) / 2 + (0.81 + 0.16) / 2) / 2)
    assert row["spread"] == pytest.approx(0.5)
    assert together([replace(LEAF, trials=(0.7, 0.6))]) == []


def test_a_run_shows_cost_and_brier_by_grounder(tmp_path: Path) -> None:
    make_small_run(tmp_path / "home")
    store = Store(tmp_path / "home")
    store.append(RUN, ev.OutcomeRecorded(node="P1", p=1.0, day="2018-12-31"))
    store.close()
    document = run_json(tmp_path, "grounders", RUN)
    leaves = document["leaves"]
    (table,) = document["by_grounder"].values()
    assert table["leaves"] == len({row["node"] for row in leaves}) and table["n"] == 1
    p = next(row["p"] for row in leaves if row["node"] == "P1")
    assert table["brier"] == pytest.approx((1 - p) ** 2)
    assert table["mean_p"] == pytest.approx(sum(row["p"] for row in leaves) / len(leaves))
    shown = run_cli(tmp_path, "grounders", RUN).stdout
    assert "mean p" in shown and "$ a trial" in shown and "apart" in shown
    own = run_cli(tmp_path, "grounders").stdout
    assert "runs" in own and "of the claim" in own
    bias = run_json(tmp_path, "grounders")["bias"]["all"]
    assert bias["leaf_bias"] == pytest.approx(p - 1.0) and bias["interval"] is None


@given(linear_trees(tame=True), st.data())
def test_the_bias_half_is_what_the_leaves_errors_do_to_a_linear_root(tree: Tree, data: st.DataObject) -> None:
    """Paper A, section 3: the root's bias is the path-weighted sum of its leaves', grounder by grounder."""
    outcomes = {leaf: data.draw(st.sampled_from([0.0, 1.0])) for leaf in tree.leaves()}
    weights, names = path_weights(tree), ("search", "notebook")
    rows = [
        replace(
            LEAF,
            node=leaf,
            parts=((names[place % 2], tree[leaf].p or 0.0),),
            outcome=outcomes[leaf],
            weight=weights[leaf],
        )
        for place, leaf in enumerate(tree.leaves())
    ]
    table = bias_table(rows)
    whole = (tree.root.p or 0.0) - (with_leaves(tree, outcomes).root.p or 0.0)
    assert table["all"]["claim_bias"] == pytest.approx(whole, abs=1e-9)
    assert sum(table[name]["claim_bias"] for name in names if name in table) == pytest.approx(whole, abs=1e-9)
    assert table["all"]["interval"] is None and table["all"]["leaves"] == len(rows)
