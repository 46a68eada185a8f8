"""Cells whose output differs at each run, by what their source shows: the time, chance from the system, the machine.

The look is static, so that the model can be told before its next cells at no cost; whether a cell repeats is settled when the proof is
run again. Generators of `random` and numpy without a seed are none of these: a kernel gives them its own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
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
_STARTS = {
    "subprocess.run",
    "subprocess.check_output",
    "subprocess.getoutput",
    "subprocess.Popen",
    "os.system",
    "os.popen",
}
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
        shown = self._shell(source)
        try:
            tree = syntax_tree(_MAGIC.sub(r"\1pass", source) if not source.lstrip().startswith("%%") else "")
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            tree = ast.Module(body=[], type_ignores=[])
        for statement in tree.body:
            shown = shown or self._statement(statement, last=statement is tree.body[-1])
        return None if shown is None else (shown, _MENDS[shown])

    def _shell(self, source: str) -> str | None:
        if _TIMED.search(source):
            return CLOCK
        for match in _SHELL.finditer(source):
            if _COMMANDS.search(match["line"] or source):
                return MACHINE
        return None

    def _statement(self, statement: ast.stmt, *, last: bool) -> str | None:
        for node in ast.walk(statement):
            if isinstance(node, ast.Import):
                self.names |= {item.asname or item.name: item.name for item in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                self.names |= {item.asname or item.name: f"{node.module}.{item.name}" for item in node.names}
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            returned = (
                node.value for node in ast.walk(statement) if isinstance(node, ast.Return) and node.value
            )
            self._keep(
                statement.name, next((kind for value in returned if (kind := self._kind(value))), None)
            )
            return self._printed(statement)
        for node in ast.walk(statement):
            if (
                isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr)
                and node.value is not None
            ):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                kind = self._kind(node.value)
                for target in targets:
                    for item in ast.walk(target):
                        if isinstance(item, ast.Name) and (kind or not isinstance(node, ast.AugAssign)):
                            self._keep(item.id, kind)
        shown = self._printed(statement)
        if shown is None and last and isinstance(statement, ast.Expr):
            shown = self._kind(statement.value)
        return shown

    def _keep(self, name: str, kind: str | None) -> None:
        if kind is None:
            self.values.pop(name, None)
        else:
            self.values[name] = kind

    def _printed(self, statement: ast.stmt) -> str | None:
        for node in ast.walk(statement):
            if not isinstance(node, ast.Call):
                continue
            name = self._dotted(node.func)
            if name.rpartition(".")[2] in _SHOWS:
                parts = [*node.args, *(item.value for item in node.keywords)]
                if shown := next((kind for part in parts if (kind := self._kind(part))), None):
                    return shown
            if name.endswith("os.fork"):
                return MACHINE
        return None

    def _kind(self, value: ast.expr) -> str | None:
        if isinstance(value, ast.Attribute) and value.attr in _DAY_ALONE and self._kind(value.value) == CLOCK:
            return None
        if isinstance(value, ast.Call):
            name = self._dotted(value.func)
            known = next((kind for end, kind in _CALLS.items() if f".{name}".endswith(f".{end}")), None)
            if known is not None:
                return known
            if name == "id" and value.args:
                return MACHINE
            if name.endswith(("datetime64", "to_datetime", "Timestamp")) and any(
                isinstance(item, ast.Constant) and item.value in ("now", "today") for item in value.args
            ):
                return None if _is_day(value) else CLOCK
            if any(name.endswith(start) for start in _STARTS) and _COMMANDS.search(
                " ".join(_constants(value))
            ):
                return MACHINE
            if isinstance(value.func, ast.Attribute) and self._kind(value.func.value) == CLOCK:
                if value.func.attr in _DAY_ALONE:
                    return None
                if value.func.attr == "strftime" and not re.search(
                    r"%[HMSfIpsTXc]", " ".join(_constants(value))
                ):
                    return None
        if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Sub):
            both = self._kind(value.left), self._kind(value.right)
            # how long something took is left out where two runs are compared
            return None if both == (CLOCK, CLOCK) else both[0] or both[1]
        if isinstance(value, ast.Compare):
            return None  # whether one day is later than another does not change from run to run
        if isinstance(value, ast.Name):
            return self.values.get(value.id)
        if isinstance(value, ast.Lambda):
            return None
        return next(
            (
                kind
                for child in ast.iter_child_nodes(value)
                for part in _expressions(child)
                if (kind := self._kind(part))
            ),
            None,
        )

    def _dotted(self, function: ast.expr) -> str:
        parts: list[str] = []
        while isinstance(function, ast.Attribute):
            parts.append(function.attr)
            function = function.value
        if not isinstance(function, ast.Name):
            return ".".join(reversed(parts))
        return ".".join([self.names.get(function.id, function.id), *reversed(parts)])


def _expressions(node: ast.AST) -> Iterator[ast.expr]:
    if isinstance(node, ast.expr):
        yield node
    else:
        for child in ast.iter_child_nodes(node):
            yield from _expressions(child)


def _constants(node: ast.AST) -> Iterator[str]:
    for item in ast.walk(node):
        if isinstance(item, ast.Constant) and isinstance(item.value, str):
            yield item.value


def _is_day(call: ast.Call) -> bool:
    return any(isinstance(item, ast.Constant) and item.value == "D" for item in call.args[1:])
