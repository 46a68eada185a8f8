"""The tree widget, one anywidget for the whole tree whatever its size, and the same as plain HTML where no kernel answers.

Edits come up as messages, patches of what changed in the rows go down; the ``tree`` trait is kept in step on this side, so a
second view, a page reload or a saved notebook shows what the first view shows. Of a large tree the page gets the order of
all ids and the first rows; further ones come when they scroll into view.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Any

import anywidget
import ipywidgets
import traitlets

from workbench.errors import UsageError
from workbench.formatting import counted, percent
from workbench.propositions import ROOT, NodeId, Tree
from workbench.templates import html_environment
from workbench.terminal import printable
from workbench.views.wording import driver_words, tree_lines
from workbench.widgets.at_rest import AtRest
from workbench.widgets.edits.edit_session import WhatIfSession
from workbench.widgets.fields import look, static_text
from workbench.widgets.html_panel import in_place
from workbench.widgets.tree_rows import Row

if TYPE_CHECKING:
    from jinja2 import Template


#: Rows of a page without a kernel, where nothing folds.
MOST_ROWS = 400


@cache
def _template() -> "Template":
    return html_environment("workbench.widgets").get_template("static_tree.html.j2")


def tree_html(tree: Tree | WhatIfSession, without_data: Mapping[NodeId, str] | None = None) -> str:
    """Return the tree as one HTML table: id, statement, rule or key factor, probability, and the base if it differs.

    All text is escaped; there are no scripts. The tree widget puts it beside its live view. Of a large tree it holds the
    upper levels and what was edited, and says how many rows it leaves out: 11,111 rows are 6 MB in every saved notebook. ``without_data`` marks leaves that read no
    data; a session knows its own.
    """
    session = tree if isinstance(tree, WhatIfSession) else WhatIfSession(tree, without_data=without_data)
    shown = _rows_in_reach(session.rows)
    return _template().render(rows=shown, left_out=len(session.rows) - len(shown))


def _rows_in_reach(rows: Mapping[NodeId, Row]) -> list[Row]:
    if len(rows) <= MOST_ROWS:
        return list(rows.values())
    levels = Counter(row["level"] for row in rows.values())
    deepest, count = 0, levels[0]
    while count + levels[deepest + 1] <= MOST_ROWS:
        deepest += 1
        count += levels[deepest]
    wanted = {id_ for id_, row in rows.items() if row["level"] <= deepest}
    if deepest == 0:  # more children than fit
        wanted.update(islice(rows, MOST_ROWS))
    # An edit moves its path up to the root, so the rows above it are among those that moved.
    wanted.update(islice((id_ for id_, row in rows.items() if row["edited"] or row["moved"]), MOST_ROWS))
    return [row for id_, row in rows.items() if id_ in wanted]


#: Rows that a page gets with the tree, no fewer than tree.js unfolds by itself; of a larger tree it gets those that it shows
#: folded. It asks for others when they come into view.
FIRST_ROWS = 300
#: Of a question for rows: a page shows some dozens at once.
_MOST_ROWS_ASKED = 500


class TreeWidget(anywidget.AnyWidget):
    """The propositions of a run, each probability editable, the root answering at once."""

    _esm = static_text("kernel_state.js", "tree.js")
    _css = static_text("tree.css")

    tree = traitlets.Dict().tag(sync=True)
    selected = traitlets.Unicode(ROOT).tag(sync=True)
    #: The run and the scenario in work, for what the page keeps for itself and for its address; empty without a run.
    run = traitlets.Unicode("").tag(sync=True)
    scenario = traitlets.Unicode("").tag(sync=True)
    #: Whether the page's address may be changed to name them: in a dashboard's page, never in JupyterLab.
    owns_address = traitlets.Bool(False).tag(sync=True)
    dark = traitlets.Bool(False)

    def __init__(self, tree: Tree | WhatIfSession, **kwargs: Any):
        self.session = tree if isinstance(tree, WhatIfSession) else WhatIfSession(tree)
        #: Called when the page has come to rest after edits that said that more may follow.
        self.on_rest: Callable[[], None] = lambda: None
        #: Whether an edit is being made after which the page will say that it has come to rest.
        self.moving = False
        #: Does what the widgets beside the tree show of the edits, once the page rests.
        self.at_rest = AtRest(self.session.lock, lambda: self.comm is not None)
        kwargs.setdefault("layout", look(ipywidgets.Layout))
        super().__init__(tree=self._whole(0), **kwargs)
        self.on_msg(self._on_message)
        self.session.subscribe(self._publish)

    def _whole(self, rev: int) -> dict[str, Any]:
        with self.session.lock:
            rows = self.session.rows
            return {
                "rev": rev,
                "edits": len(self.session.edits),
                "order": list(rows),
                "leaves": len(self.session.tree.leaves()),
                "nodes": {node: rows[node] for node in self._first_rows()},
            }

    def _first_rows(self) -> list[NodeId]:
        """The rows that a page shows at first: of a large tree it folds all but the root."""
        tree = self.session.tree
        first = [ROOT, *tree[ROOT].children] if len(tree) > FIRST_ROWS else tree.ids()
        return list(islice(first, FIRST_ROWS))

    @traitlets.validate("selected")
    def _known(self, proposal: dict[str, Any]) -> str:
        self.session.tree[proposal["value"]]
        return str(proposal["value"])

    def reset_all(self) -> None:
        """Take all edits back, as the button does."""
        self.session.reset_all()

    def say_alive(self) -> bool:
        """Tell the page that this process lives; False once the page is gone."""
        if self.comm is None:
            return False
        self.send({"type": "alive"})
        return True

    def _on_message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """Answer one message of the front end; whatever it holds, the answer is a patch or a visible refusal."""
        message = content if isinstance(content, dict) else {}
        node = str(message.get("id", ""))
        with self.session.lock:
            self.moving = message.get("moving") is True
            if self.moving:
                self.at_rest.wait()
            try:
                match message.get("type"):
                    case "rest":
                        self.on_rest()
                        self.at_rest.go_on()
                    case "rows":
                        self._send_rows(message.get("ids"))
                    case "find":
                        self._find(message.get("text"), message.get("kind"))
                    case "edit":
                        self.session.edit(node, message.get("text", ""))
                    case "reset":
                        self.session.reset(node)
                    case "reset_all":
                        self.session.reset_all()
                    case "undo":
                        self.session.undo()
                    case "redo":
                        self.session.redo()
                    case "ping":
                        # A page asks now and then: one that gets no answer says so and takes no edits.
                        self.send({"type": "pong"})
                    case "ready":
                        self.dark = message.get("dark") is True
                        if message.get("rev") != self.tree["rev"]:
                            # Patches that were sent before the page had a view were heard by nobody.
                            self.send_state("tree")
            # An exception in a widget's callback is seen by nobody; the front end shows this message at the row.
            except UsageError as error:
                self.send({"type": "refused", "id": node, "line": str(error)})
            finally:
                self.moving = False

    def _send_rows(self, wanted: Any) -> None:
        """Send rows that came into view; from then on they are kept in step."""
        ids = wanted[:_MOST_ROWS_ASKED] if isinstance(wanted, list) else []
        known = [node for node in ids if isinstance(node, str) and node in self.session.rows]
        rows = {node: self.session.rows[node] for node in known}
        self.tree["nodes"].update(rows)
        self.send({"type": "rows", "nodes": rows})

    def _find(self, text: Any, kind: Any) -> None:
        words, chosen = (value if isinstance(value, str) else "" for value in (text, kind))
        self.send(
            {"type": "found", "text": words, "kind": chosen, "ids": self.session.matching(words, chosen)}
        )

    def _publish(self) -> None:
        """Bring the trait up to date in place (no whole-tree message) and send the rows that changed."""
        # Changed in place, since traitlets sends what is assigned: a whole tree of 1,000 nodes is 241 KB an edit, a patch
        # of what changed in its rows 0.6 KB.
        state: dict[str, Any] = self.tree
        nodes: dict[str, Row] = state["nodes"]
        if state["order"] != list(self.session.rows):
            # Another shape: rows come and go, so the tree is sent anew.
            if self.selected not in self.session.rows:
                self.selected = ROOT
            self.tree = self._whole(state["rev"] + 1)
            self.send({"type": "shape", "line": self._line()})
            return
        patches: dict[NodeId, dict[str, Any]] = {}
        for node in self.session.tree.in_order(self.session.changed):
            old, new = nodes.get(node), self.session.rows[node]
            if old is not None:  # a row that was never sent is whole when it is asked for
                patches[node] = {key: value for key, value in new.items() if old.get(key) != value}
                nodes[node] = new
        state["rev"] += 1
        state["edits"] = len(self.session.edits)
        self.send(
            {
                "type": "patch",
                "rev": state["rev"],
                "edits": state["edits"],
                "nodes": patches,
                "line": self._line(),
            }
        )

    def _line(self) -> str:
        now = self.session.now
        count = len(self.session.edits)
        if not count:
            return ""
        edits = counted(count, "edit")
        if now.after is None:
            stale = " and ".join(driver_words(now.tree, node) for node in now.stale)
            return f"{edits}. Ask the model to combine again: {stale}"
        return f"{edits}: the claim moves from {percent(now.before)} to {percent(now.after)}"

    def static_html(self) -> str:
        """Return the tree as plain HTML, edits included."""
        return tree_html(self.session)

    def shown_as(self, widget: ipywidgets.Widget) -> dict[str, str]:
        """Return the tree as plain HTML, which a widget that shows this tree replaces while a kernel answers."""
        lines = tree_lines(self.session.tree)
        return in_place(widget, self.static_html(), printable("\n".join(lines)))

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        return self.shown_as(self)
