"""``%load_ext workbench``: a claim as a notebook cell.

::

    %%proposition --cutoff 2018-06-30
    The S&P 500 closes higher on 2018-12-31 than on 2018-06-29

``%run_of RUN`` opens an earlier run. Both leave the analysis in the variable ``analysis``.
"""

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from workbench.engine.blocking import run_blocking
from workbench.errors import UsageError

if TYPE_CHECKING:
    from workbench.api import Analysis


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(
            f"%%proposition: {message}; write %%proposition --cutoff 2018-06-30 and the claim below it"
        )


def _parser() -> _Parser:
    # argparse ends the process on a wrong option and on --help, and here the process is the user's kernel.
    parser = _Parser(prog="%%proposition", add_help=False, exit_on_error=False)
    parser.add_argument("--cutoff", required=True)
    parser.add_argument("--model")
    parser.add_argument("--api-base")
    parser.add_argument("--preset", default="product")
    parser.add_argument("--max-leaves", type=int)
    parser.add_argument("--trials", type=int)
    parser.add_argument("--isolation")
    return parser


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%proposition`` and ``%run_of``."""

    def proposition(line: str, cell: str) -> "Analysis":
        from workbench.api import analyze

        options = vars(_parser().parse_args(line.split()))
        # A claim that is wrapped over several lines of the cell is one statement.
        analysis: Analysis = run_blocking(analyze(" ".join(cell.split()), **options))
        shell.user_ns["analysis"] = analysis
        return analysis

    def run_of(line: str) -> "Analysis":
        from workbench.api import open_run

        analysis = open_run(line.strip() or "last")
        shell.user_ns["analysis"] = analysis
        return analysis

    shell.register_magic_function(proposition, "cell", "proposition")
    shell.register_magic_function(run_of, "line", "run_of")
