"""Errors in the terms of MCP: what mends one is a tool of this server or an argument of the call; the rest is the analyst's."""

from proxies.remedies import Command, Option, Remedied, reworded, shell_terms

#: Command -> the tool that does the same, with the names of its arguments in the order of the command's.
TOOLS = {
    "apis": ("api_docs",),
    "api-doc": ("api_docs",),
    "call": ("call_api", "path"),
    "evidence": ("read_proof", "run", "node"),
    "page": ("open_page", "url"),
    "read": ("read_claim", "text"),
    "runs": ("list_runs",),
    "scenarios": ("read_tree", "run"),
    "search": ("search", "words"),
    "sensitivity": ("sensitivity", "run"),
    "show": ("read_tree", "run"),
    "verify": ("verify", "run", "node"),
    "whatif": ("what_if", "run"),
}
#: Option -> the argument of a tool, where there is one.
ARGUMENTS = (
    "node",
    "pin",
    "rationale",
    "reading",
    "remove",
    "report",
    "rule",
    "scenario",
    "set",
    "trial",
    "unpin",
    "weight",
)


def mcp_terms(remedy: Command | Option) -> str:
    """Return the tool with its arguments, or the argument; what no tool does as what the analyst may type."""
    if isinstance(remedy, Option) and remedy.name in ARGUMENTS:
        return f"the argument {remedy.name}{f' ({remedy.value})' if remedy.value not in ('', True) else ''}"
    if isinstance(remedy, Command) and remedy.name in TOOLS and not remedy.options:
        tool, *names = TOOLS[remedy.name]
        arguments = [f"{name}={value!r}" for name, value in zip(names, remedy.arguments, strict=False)]
        return f"the tool {tool}" + (f" with {', '.join(arguments)}" if arguments else "")
    typed = shell_terms(remedy)
    return f"{typed if isinstance(remedy, Command) else f'`{typed}`'} on the analyst's command line"


def line_for_client(line: str) -> str:
    """Return a stored or returned line for the client."""
    return reworded(line, mcp_terms)


def for_client(error: Exception) -> str:
    """Return the line of an error for the client."""
    if isinstance(error, Remedied):
        error.terms = mcp_terms
    return str(error)
