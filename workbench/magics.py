"""``%load_ext workbench``: claims, what-ifs and proofs as lines and cells of a notebook.

::

    %%proposition --cutoff 2018-06-30
    The S&P 500 closes higher on 2018-12-31 than on 2018-06-29

    %whatif P2.1=0 P3=40%      # options as of `workbench whatif`: --remove, --weight, --pin, --scenario, ...
    %proof P2.1                # the notebook behind a leaf
    %run_of RUN                # an earlier run
    %read VIX over 20 by year end --cutoff 2018-06-30   # what a claim is taken to say; --reading N chooses

``%%proposition`` and ``%run_of`` leave the analysis in the variable ``analysis``, which the others are about; without one they
are about the newest run.
"""

import shlex
from collections.abc import Sequence
from typing import Any, TypeVar

from workbench.api import Analysis, Proof, analyze, open_run, read
from workbench.api.python_terms import python_terms
from workbench.blocking import run_blocking
from workbench.cli.lazy import command_from
from workbench.errors import UsageError
from workbench.operations.analysis import Analyze
from workbench.operations.base import Operation
from workbench.operations.claim_reading import Read
from workbench.operations.what_if import WhatIf
from workbench.views.reading_documents import reading_lines

Asked = TypeVar("Asked", bound=Operation)

_FORMS = {
    "%%proposition": "write %%proposition --cutoff 2018-06-30 and the claim below it",
    "%whatif": "write %whatif P2.1=0.25, several with spaces between, options as of `workbench whatif`",
    "%proof": "write %proof P2.1",
    "%read": "write %read VIX over 20 by year end --cutoff 2018-06-30",
}


def _split(magic: str, line: str) -> tuple[list[str], list[str]]:
    """Return the words before the first option, and the rest."""
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{magic}: {error}; {_FORMS[magic]}") from None
    first = next((place for place, word in enumerate(words) if word.startswith("--")), len(words))
    return words[:first], words[first:]


def typed(magic: str, operation: type[Asked], words: Sequence[str]) -> Asked:
    """Return the request of a line as its command reads it; raises ``UsageError``, and ends no process: it is the user's kernel."""
    try:
        context = command_from(magic, operation).make_context(magic, [*words], help_option_names=[])
    except Exception as error:
        message = getattr(error, "format_message", None)  # the command line's own
        if message is None:
            raise
        raise UsageError(f"{magic}: {' '.join(message().split())}; {_FORMS[magic]}") from None
    return operation.typed(context.meta.get("--set", ()), **context.params)


def _fields(request: Operation) -> dict[str, Any]:
    return {name: getattr(request, name) for name in request.model_fields_set}


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%proposition``, ``%whatif``, ``%proof``, ``%run_of`` and ``%read``."""

    def present() -> "Analysis":
        analysis = shell.user_ns.get("analysis")
        return analysis if isinstance(analysis, Analysis) else open_run("last")

    def proposition(line: str, cell: str) -> "Analysis":
        before, options = _split("%%proposition", line)
        # A claim that is wrapped over several lines of the cell is one statement.
        request = typed("%%proposition", Analyze, [*before, *options, "--", " ".join(cell.split())])
        analysis: Analysis = run_blocking(analyze(**_fields(request)))
        shell.user_ns["analysis"] = analysis
        return analysis

    def what_if(line: str) -> Any:
        analysis = present()
        pairs, options = _split("%whatif", line)
        values = (word for pair in pairs for word in ("--set", pair))
        return analysis.asked(typed("%whatif", WhatIf, [analysis.run_id, *values, *options]))

    def proof(line: str) -> "Proof":
        nodes, options = _split("%proof", line)
        if len(nodes) != 1 or options:
            raise UsageError(f"%proof: {_FORMS['%proof']}")
        return present().proof(nodes[0])

    def run_of(line: str) -> "Analysis":
        analysis = open_run(line.strip() or "last")
        shell.user_ns["analysis"] = analysis
        return analysis

    def read_line(line: str) -> None:
        text, options = _split("%read", line)
        request = typed("%read", Read, [*options, "--", *([" ".join(text)] if text else [])])
        for each in reading_lines(read(**_fields(request)), python_terms):
            print(each)

    shell.register_magic_function(read_line, "line", "read")
    shell.register_magic_function(proposition, "cell", "proposition")
    shell.register_magic_function(what_if, "line", "whatif")
    shell.register_magic_function(proof, "line", "proof")
    shell.register_magic_function(run_of, "line", "run_of")
