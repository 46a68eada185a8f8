"""A tree as the store files it."""

import orjson

from workbench.propositions import Tree
from workbench.store import Store


def put_tree(store: Store, tree: Tree) -> str:
    """File a tree as a body and return its hash."""
    return store.put_body(tree_body(tree))


def tree_body(tree: Tree) -> bytes:
    """Return the body as which a tree is filed."""
    return orjson.dumps(tree.to_json(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
