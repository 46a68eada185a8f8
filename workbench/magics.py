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

import argparse
import shlex
from typing import Any, NoReturn

from workbench.api import (
    Analysis,
    Proof,
    analyze,
    open_run,
    read,
)
from workbench.api.python_terms import python_terms
from workbench.blocking import run_blocking
from workbench.engine.named_settings import merged, read_settings, setting_of, settings_by_name
from workbench.errors import UsageError
from workbench.models.model_options import OFFLINE
from workbench.operations.what_if import WhatIf
from workbench.questions.readings.choice import READING
from workbench.requests import fields_of
from workbench.views.reading_documents import reading_lines

_FORMS = {
    "%%proposition": "write %%proposition --cutoff 2018-06-30 and the claim below it",
    "%whatif": "write %whatif P2.1=0.25, several with spaces between, options as of `workbench whatif`",
    "%proof": "write %proof P2.1",
    "%read": "write %read VIX over 20 by year end --cutoff 2018-06-30",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}; {_FORMS[self.prog]}")


def _parser(name: str) -> _Parser:
    # argparse ends the process on a wrong option and on --help, and here the process is the user's kernel.
    return _Parser(prog=name, add_help=False, exit_on_error=False, allow_abbrev=False)


def _parsed_line(parser: _Parser, line: str) -> dict[str, Any]:
    try:
        words = shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{parser.prog}: {error}; {_FORMS[parser.prog]}") from None
    try:
        return vars(parser.parse_args(words))
    except argparse.ArgumentError as error:
        parser.error(str(error))


def proposition_parser() -> _Parser:
    """Return what reads the line of ``%%proposition``: the settings that have an option of their own, and ``--set`` for all."""
    parser = _parser("%%proposition")
    parser.add_argument("--cutoff", required=True)
    parser.add_argument("--plan-only", action="store_true")
    parser.add_argument("--reading", type=int, metavar=READING.form, help=READING.text)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="named")
    for each in settings_by_name().values():
        option = setting_of(each).option
        if option and each.shape == "flag":
            parser.add_argument(option, dest=each.name, action="store_true", default=argparse.SUPPRESS)
        elif option and each.shape == "value":
            kind = each.bare if each.bare in (int, float) else str
            parser.add_argument(option, dest=each.name, type=kind, default=argparse.SUPPRESS)
    return parser


def read_parser() -> _Parser:
    """Return what reads the line of ``%read``."""
    parser = _parser("%read")
    parser.add_argument("text", nargs="+")
    parser.add_argument("--cutoff", default="now")
    parser.add_argument("--model", default=OFFLINE)
    parser.add_argument("--reading", type=int, metavar=READING.form, help=READING.text)
    return parser


def what_if_parser(model: type[WhatIf] = WhatIf) -> _Parser:
    """Return what reads the line of ``%whatif``: an argument for each field of the request, by the field's name."""
    parser = _parser("%whatif")
    for each in fields_of(model):
        if each.name == "run":
            continue
        if each.name == "values":
            parser.add_argument("values", nargs="*", metavar=each.metavar)
            continue
        match each.shape:
            case "flag":
                how: dict[str, Any] = {"action": "store_true"}
            case "value":
                how = {}
            case _:
                how = {"action": "append"}
        parser.add_argument(each.option, dest=each.name, help=each.says.text, **how)
    return parser


def load_ipython_extension(shell: Any) -> None:
    """Register ``%%proposition``, ``%whatif``, ``%proof``, ``%run_of`` and ``%read``."""

    def present() -> "Analysis":
        analysis = shell.user_ns.get("analysis")
        return analysis if isinstance(analysis, Analysis) else open_run("last")

    def proposition(line: str, cell: str) -> "Analysis":
        options = _parsed_line(proposition_parser(), line)
        options = merged(options, read_settings(options.pop("named")))
        # A claim that is wrapped over several lines of the cell is one statement.
        analysis: Analysis = run_blocking(analyze(" ".join(cell.split()), **options))
        shell.user_ns["analysis"] = analysis
        return analysis

    def what_if(line: str) -> Any:
        analysis = present()
        return analysis.asked(WhatIf.typed(run=analysis.run_id, **_parsed_line(what_if_parser(), line)))

    def proof(line: str) -> "Proof":
        parser = _parser("%proof")
        parser.add_argument("node")
        return present().proof(_parsed_line(parser, line)["node"])

    def run_of(line: str) -> "Analysis":
        analysis = open_run(line.strip() or "last")
        shell.user_ns["analysis"] = analysis
        return analysis

    def read_line(line: str) -> None:
        options = _parsed_line(read_parser(), line)
        text = " ".join(options.pop("text"))
        for each in reading_lines(read(text, **options), python_terms):
            print(each)

    shell.register_magic_function(read_line, "line", "read")
    shell.register_magic_function(proposition, "cell", "proposition")
    shell.register_magic_function(what_if, "line", "whatif")
    shell.register_magic_function(proof, "line", "proof")
    shell.register_magic_function(run_of, "line", "run_of")
