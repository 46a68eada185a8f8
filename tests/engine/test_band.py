"""The band of a run with one trial a leaf: how far its refits spread, carried up to the claim."""

import pytest

from tests.fakes.screens import demo_tree
from workbench.store.events import NodeRefitted, NumberSpread
from workbench.whatif.band import refits_band


def refitted(node: str, sd: float, *, count: int = 5, failed: int = 0) -> NodeRefitted:
    p = demo_tree()[node].p
    assert p is not None
    value = NumberSpread(mean=p, sd=sd, low=p - sd, high=p + sd)
    return NodeRefitted(node=node, count=count, failed=failed, value=value)


def test_the_spread_of_each_node_is_carried_up_by_its_weight() -> None:
    """P2 has weight 0.25 in P0: sd = sqrt((0.25 x 0.04)^2 + 0.02^2) = 0.02236, times 1.6449 = 0.03678."""
    tree = demo_tree()
    band = refits_band(tree, {"P2": refitted("P2", 0.04), "P0": refitted("P0", 0.02)})
    assert band is not None and tree.root.p is not None
    assert (band.low, band.high) == pytest.approx((tree.root.p - 0.03678, tree.root.p + 0.03678), abs=1e-5)
    assert "5 refits of the weights of 2 inner drivers" in band.line()
    assert "not how sure the event" in band.line()


def test_refits_that_agree_are_said_to_be_no_certainty() -> None:
    band = refits_band(demo_tree(), {"P0": refitted("P0", 0.0)})
    assert band is not None and band.is_point and "The refits agree" in band.line()


def test_the_band_stays_within_probabilities() -> None:
    band = refits_band(demo_tree(), {"P0": refitted("P0", 0.9)})
    assert band is not None and (band.low, band.high) == (0.0, 1.0)


def test_there_is_no_band_of_one_usable_refit_or_none() -> None:
    lone = refitted("P2", 0.0, count=3, failed=2)
    failed = NodeRefitted(node="P0", count=3, failed=3)
    assert refits_band(demo_tree(), {"P2": lone, "P0": failed}) is None
    assert refits_band(demo_tree(), {}) is None
