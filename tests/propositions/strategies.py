"""Random proposition trees."""

import string

from hypothesis import strategies as st

from workbench.propositions import ROOT, Belief, Polarity, Tree, child_id

words = st.text(string.ascii_letters + string.digits + " %.,é中", min_size=1, max_size=12)
probabilities = st.floats(0, 1)


@st.composite
def bare_trees(draw: st.DrawFn, max_nodes: int = 20) -> Tree:
    """Trees without values; statements differ by their ids."""
    tree = Tree.root_only(draw(words) + " P0")
    frontier = [ROOT]
    while frontier and len(tree) < max_nodes:
        parent = frontier.pop(draw(st.integers(0, len(frontier) - 1)))
        count = draw(st.integers(0, 4))
        if not count:
            continue
        ids = [child_id(parent, n) for n in draw(st.permutations(range(1, count + 1)))]
        polarities = {child: draw(st.sampled_from(Polarity)) for child in ids if draw(st.booleans())}
        tree = tree.expand(parent, {c: f"{draw(words)} {c}" for c in ids}, polarities, draw(words))
        frontier += ids
    return tree


@st.composite
def grounded_trees(draw: st.DrawFn, max_nodes: int = 20) -> Tree:
    """Trees whose leaves have a belief."""
    tree = draw(bare_trees(max_nodes))
    for leaf in tree.leaves():
        tree = tree.with_belief(
            leaf, Belief(p=draw(probabilities), key_factor=draw(words), report=draw(words))
        )
    return tree
