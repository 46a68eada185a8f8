"""The tree widget: one anywidget for the whole tree, whatever its size.

Edits come up as messages, patches of the rows that changed go down; the ``tree`` trait is kept in step on this side, so a
second view, a page reload or a saved notebook shows what the first view shows.
"""

from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from workbench.engine.wording import percent
from workbench.errors import UsageError
from workbench.propositions import ROOT, Tree
from workbench.widgets.session import Row, WhatIfSession
from workbench.widgets.static_tree import tree_html

_STATIC = files("workbench.widgets") / "static"


class TreeWidget(anywidget.AnyWidget):
    """The propositions of a run, each probability editable, the root answering at once.

    Parameters
    ----------
    tree : Tree or WhatIfSession
        A tree, or a session to share with other panels.
    """

    _esm = (_STATIC / "tree.js").read_text(encoding="utf-8")
    _css = (_STATIC / "tree.css").read_text(encoding="utf-8")

    tree = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode(ROOT).tag(sync=True)
    dark = traitlets.Bool(False)

    def __init__(self, tree: Tree | WhatIfSession, **kwargs: Any):
        self.session = tree if isinstance(tree, WhatIfSession) else WhatIfSession(tree)
        super().__init__(tree=self.session.snapshot(), **kwargs)
        self.on_msg(self._on_message)
        self.session.subscribe(self._publish)

    @traitlets.validate("selected")
    def _known(self, proposal: dict[str, Any]) -> str:
        self.session.base[proposal["value"]]
        return str(proposal["value"])

    def reset_all(self) -> None:
        """Take all edits back, as the button does."""
        self.session.reset_all()

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Answer one message of the front end; whatever it holds, the answer is a patch or a visible refusal."""
        message = content if isinstance(content, dict) else {}
        node = str(message.get("id", ""))
        with self.session.lock:
            try:
                match message.get("type"):
                    case "edit":
                        self.session.edit(node, message.get("text", ""))
                    case "reset":
                        self.session.reset(node)
                    case "reset_all":
                        self.session.reset_all()
                    case "ready":
                        self.dark = message.get("dark") is True
            # An exception in a widget's callback is seen by nobody; the front end shows this message at the row.
            except UsageError as error:
                self.send({"type": "refused", "id": node, "line": str(error)})

    def _publish(self) -> None:
        """Bring the trait up to date in place (no whole-tree message) and send the rows that changed."""
        # Changed in place, since traitlets sends what is assigned: a whole tree of 1,000 nodes is 241 KB an edit, a patch
        # 1.7 KB.
        state: dict[str, Any] = self.tree
        nodes: dict[str, Row] = state["nodes"]
        changed = [row for node, row in self.session.rows.items() if nodes[node] != row]
        nodes.update({row["id"]: row for row in changed})
        state["rev"] += 1
        state["edits"] = len(self.session.edits)
        self.send(
            {
                "type": "patch",
                "rev": state["rev"],
                "edits": state["edits"],
                "nodes": changed,
                "line": self._line(),
            }
        )

    def _line(self) -> str:
        now = self.session.now
        count = len(self.session.edits)
        if not count:
            return ""
        edits = "1 edit" if count == 1 else f"{count} edits"
        if now.after is None:
            return f"{edits}: {', '.join(now.stale)} need a full resynthesis (workbench whatif --full)"
        return f"{edits}: {ROOT} {percent(now.before)} to {percent(now.after)}"

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        """Return the live view, and beside it an HTML table that front ends without a kernel show."""
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle is None:
            return None
        data, metadata = bundle if isinstance(bundle, tuple) else (bundle, {})
        # nbconvert and GitHub have no widget manager of their own (nbconvert loads it from a CDN).
        data["text/html"] = tree_html(self.session)
        return data, metadata
