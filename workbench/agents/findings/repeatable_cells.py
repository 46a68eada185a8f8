"""Cells whose output differs at each run, by what their source shows: the time, chance from the system, the machine.

The look is static, so that the model can be told before its next cells at no cost; whether a cell repeats is settled when the proof is
run again. Generators of `random` and numpy without a seed are none of these: a kernel gives them its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from workbench.syntax_tree import syntax_tree

CLOCK, CHANCE, MACHINE = (
    "the time of the run",
    "chance from the system, which has no seed",
    "the machine that it runs on",
)

#: Calls by the end of their dotted name, and what they show.
_CALLS = {
    **dict.fromkeys(
        ("datetime.now", "datetime.utcnow", "datetime.today", "dt.now", "Timestamp.now", "Timestamp.utcnow", "Timestamp.today", "time.time", "time.time_ns",
         "time.perf_counter", "time.perf_counter_ns", "time.monotonic", "time.monotonic_ns", "time.process_time", "time.ctime", "time.asctime",
         "time.localtime", "time.gmtime"), CLOCK,
    ),
    **dict.fromkeys(
        ("os.urandom", "random.SystemRandom", "uuid.uuid1", "uuid.uuid4", "secrets.token_hex", "secrets.token_bytes", "secrets.token_urlsafe",
         "secrets.randbelow", "secrets.choice", "secrets.randbits", "os.getrandom"), CHANCE,
    ),
    **dict.fromkeys(
        ("os.getpid", "os.getppid", "os.getuid", "os.fork", "os.getloadavg", "getpass.getuser", "tempfile.mkdtemp", "tempfile.mkstemp", "tempfile.mktemp",
         "socket.gethostname", "platform.node", "threading.get_ident", "psutil.cpu_percent", "psutil.virtual_memory"), MACHINE,
    ),
}  # fmt: skip
_MENDS = {
    CLOCK: "Take the knowledge cutoff for today, as a date that you type",
    CHANCE: "Draw from a generator with a seed, such as numpy.random.default_rng(1)",
    MACHINE: "Leave it out, or do the work in the cell itself",
}
#: Commands of a shell whose answer differs from run to run.
_COMMANDS = re.compile(
    r"\b(?:id|whoami|date|ps|top|uptime|free|df|mktemp|uuidgen|hostname|who|w|env|printenv|vmstat|lsof|ping)\b|\$RANDOM|\$\$|/dev/u?random"
)
_SHELL = re.compile(r"^\s*(?:\w+\s*=\s*)?!(?P<line>.*)$|^%%(?:bash|sh|script)\b.*$", re.MULTILINE)
_TIMED = re.compile(r"^\s*%%?time(?:it)?\b", re.MULTILINE)
_MAGIC = re.compile(r"^(\s*)(?:[!%?].*|\w+\s*=\s*[!%].*)$", re.MULTILINE)
#: What is left of a time when only its day is taken.
_DAY_ALONE = {
    "date",
    "year",
    "month",
    "day",
    "weekday",
    "isoweekday",
    "quarter",
    "toordinal",
    "normalize",
    "days",
}
_STARTS = (
    "subprocess.run", "subprocess.check_output", "subprocess.getoutput", "subprocess.Popen", "os.system", "os.popen",
)  # fmt: skip
#: What takes "now" for a time.
_TIMES = ("datetime64", "to_datetime", "Timestamp")
#: What a format shows beside the day.
_CLOCK_FIELD = re.compile(r"%[HMSfIpsTXc]")
_SHOWS = {"print", "display", "pprint"}


@dataclass(slots=True)
class RepeatableCells:
    r"""What the cells of one notebook make of the time, of chance and of the machine, cell by cell.

    >>> cells = RepeatableCells()
    >>> cells.look("import time\nstart = time.time()")
    >>> cells.look("print(start)")
    ('the time of the run', 'Take the knowledge cutoff for today, as a date that you type')
    """

    names: dict[str, str] = field(default_factory=dict)  # what is called by another name: "dt" -> "datetime"
    values: dict[str, str] = field(default_factory=dict)  # variables and functions that hold such a value

    def look(self, source: str) -> tuple[str, str] | None:
        """Return what an output of this cell shows that differs at each run, and what mends it; None where it repeats."""
        shown = _of_the_shell(source)
        try:
            tree = syntax_tree(_MAGIC.sub(r"\1pass", source) if not source.lstrip().startswith("%%") else "")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = ast.Module(body=[], type_ignores=[])
        for statement in tree.body:
            shown = shown or self._shown_by(statement, last=statement is tree.body[-1])
        return None if shown is None else (shown, _MENDS[shown])

    def _shown_by(self, statement: ast.stmt, *, last: bool) -> str | None:
        """Return what a statement shows, and keep what its names hold from then on."""
        nodes = list(ast.walk(statement))
        for node in nodes:
            if isinstance(node, ast.Import):
                self.names |= {item.asname or item.name: item.name for item in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                self.names |= {item.asname or item.name: f"{node.module}.{item.name}" for item in node.names}
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            self._keep(statement.name, self._first(node for node in nodes if isinstance(node, ast.Return)))
        else:
            for node in nodes:
                if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr):
                    self._assign(node)
        for node in nodes:
            if isinstance(node, ast.Call):
                name = self._dotted(node.func)
                if name.endswith("os.fork"):
                    return MACHINE
                if name.rpartition(".")[2] in _SHOWS and (kind := self._first([*node.args, *node.keywords])):
                    return kind
        return self._kind(statement.value) if last and isinstance(statement, ast.Expr) else None

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) -> None:
        kind = None if node.value is None else self._kind(node.value)
        if kind is None and isinstance(node, ast.AugAssign):
            return  # what it held it goes on holding
        for item in ast.walk(node):
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store):
                self._keep(item.id, kind)

    def _keep(self, name: str, kind: str | None) -> None:
        if kind is None:
            self.values.pop(name, None)
        else:
            self.values[name] = kind

    def _first(self, nodes: Iterable[ast.AST]) -> str | None:
        return next((kind for node in nodes if (kind := self._kind(node))), None)

    def _kind(self, node: ast.AST) -> str | None:
        """Return what of the run a value holds; None where it repeats."""
        match node:
            case ast.Compare() | ast.Lambda():
                return None  # whether one day is later than another does not change from run to run
            case ast.Name():
                return self.values.get(node.id)
            case ast.Attribute() if node.attr in _DAY_ALONE and self._kind(node.value) == CLOCK:
                return None
            case ast.BinOp(op=ast.Sub()):
                both = self._kind(node.left), self._kind(node.right)
                # how long something took is left out where two runs are compared
                return None if both == (CLOCK, CLOCK) else both[0] or both[1]
            case ast.Call():
                texts = _texts(node)
                name = f".{self._dotted(node.func)}"
                if kind := next((kind for end, kind in _CALLS.items() if name.endswith(f".{end}")), None):
                    return kind
                if name == ".id" and node.args:
                    return MACHINE
                if name.endswith(_TIMES) and {"now", "today"} & {*texts}:
                    return None if "D" in texts else CLOCK
                if name.endswith(_STARTS) and _COMMANDS.search(" ".join(texts)):
                    return MACHINE
                if name.endswith(".strftime") and not _CLOCK_FIELD.search(" ".join(texts)):
                    return None
        return self._first(ast.iter_child_nodes(node))

    def _dotted(self, function: ast.expr) -> str:
        first, dot, rest = ast.unparse(function).partition(".")
        return f"{self.names.get(first, first)}{dot}{rest}"


def _of_the_shell(source: str) -> str | None:
    if _TIMED.search(source):
        return CLOCK
    lines = (match["line"] or source for match in _SHELL.finditer(source))
    return MACHINE if any(_COMMANDS.search(line) for line in lines) else None


def _texts(node: ast.AST) -> list[str]:
    constants = (item.value for item in ast.walk(node) if isinstance(item, ast.Constant))
    return [value for value in constants if isinstance(value, str)]
