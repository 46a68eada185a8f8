"""The manual's reference: commands, settings, words, Python, endpoints and prompts, each made from what the program itself goes by.

``python -m workbench.reference FOLDER`` writes all pages of the manual there. It is a program of its own, which ``workbench docs``
starts: it loads every face of the workbench to describe it.
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from proxies.catalogue import Catalogue, load_catalogue
from proxies.catalogue.schema import RESIDUALS, Endpoint, Undated
from workbench import api
from workbench.cli.commands import COMMANDS, PANELS
from workbench.cli.lazy import OperationCommand
from workbench.cli.main import app
from workbench.engine.named_settings import setting_of, settings_by_name, settings_by_panel
from workbench.formatting import GLOSSARY, SCORE_WORDS
from workbench.manual import manual_sources, write_pages
from workbench.plug_points import OPERATIONS, plugin_names
from workbench.prompts import load
from workbench.prompts import names as prompt_names

FOLDER = "reference/"
#: Changes that a vendor may make without a date, in words.
UNDATED_WORDS: dict[Undated, str] = {
    "restated": "changed in place", "removed": "removed", "ranked": "ranked anew", "capped": "crowded out by a limit",
    "expired": "no longer kept", "rescaled": "rescaled and rounded", "added": "added to a list without days", "renamed": "renamed",
    "ticker": "a ticker given later",
}  # fmt: skip
_SECTION = re.compile(r"^([A-Z][\w ]+)\n-{3,}\n", re.MULTILINE)


def reference_pages() -> dict[str, str]:
    """Return the pages of the reference, by their place in the manual."""
    return {
        **{
            f"{FOLDER}commands-{panel.lower()}.md": _commands_page(f"Commands: {panel.lower()}", names)
            for panel, names in PANELS.items()
        },
        **_package_pages(),
        f"{FOLDER}settings.md": _settings_page(),
        f"{FOLDER}python.md": _python_page(),
        f"{FOLDER}endpoints.md": _endpoints_page(load_catalogue()),
        f"{FOLDER}prompts.md": _prompts_page(),
        f"{FOLDER}words.md": _titled(
            "The words", [f"**{word}**: {text}" for word, text in (GLOSSARY | SCORE_WORDS).items()]
        ),
    }


def _titled(title: str, parts: Iterable[str]) -> str:
    return "\n\n".join([f"# {title}", *parts]) + "\n"


def _pipe_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(_table_cell(each) for each in line)} |" for line in lines)


def _table_cell(text: str) -> str:
    return " ".join(str(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _package_pages() -> dict[str, str]:
    added = [name for name in plugin_names(OPERATIONS) if name not in COMMANDS]
    title = "Commands: of installed packages"
    return {f"{FOLDER}commands-of-packages.md": _commands_page(title, added)} if added else {}


def _commands_page(title: str, names: Iterable[str]) -> str:
    group: Any = typer.main.get_command(app)
    return _titled(
        title, (part for name in names for part in _command_parts(("workbench", name), group.commands[name]))
    )


def _command_parts(words: tuple[str, ...], target: Any) -> list[str]:
    arguments = [
        (_argument(each), each.help or "") for each in target.params if each.param_type_name == "argument"
    ]
    parts = [f"{'#' * len(words)} `{' '.join(words[1:])}`", *_help_paragraphs(target.help)]
    inner = getattr(target, "commands", {})
    if not inner:
        parts.append(f"```\n{' '.join([*words, *(word for word, _ in arguments), '[OPTIONS]'])}\n```")
    rows = [(f"`{word}`", "", says) for word, says in arguments]
    for each in target.params:
        if each.param_type_name == "option" and "--help" not in each.opts:
            names = " ".join(f"`{name}`" for name in [*each.opts, *each.secondary_opts])
            names += f" `{each.metavar}`" if each.metavar else ""
            default = each.default if isinstance(each.default, str | int | float) else ""
            rows.append((names, "" if default in ("", True, False) else str(default), each.help or ""))
    if isinstance(target, OperationCommand):
        rows += [
            (
                f"`--set {name}=`",
                "" if each.default in (None, "", False, [], {}) else str(each.default),
                each.says.text,
            )
            for name, each in target.operation.set_fields().items()
        ]
    if rows:
        parts.append(_pipe_table(("", "default", "what it is"), rows))
    for name in inner:
        parts += _command_parts((*words, name), inner[name])
    return parts


def _argument(each: Any) -> str:
    if each.metavar:
        return str(each.metavar)
    word = each.name.upper().rstrip("_") + ("..." if each.nargs != 1 else "")
    return word if each.required else f"[{word}]"


def _help_paragraphs(text: str | None) -> list[str]:
    return [" ".join(piece.split()) for piece in (text or "").split("\n\n") if piece.strip()]


def _settings_page() -> str:
    known = settings_by_name()
    parts = [
        "`--set NAME=VALUE` gives a run any of these; the same names stand in `workbench.toml`"
        " and are keywords of `wb.analyze`."
    ]
    for panel, names in settings_by_panel().items():
        rows = []
        for name in names:
            own, says = setting_of(known[name]), known[name].says
            default = known[name].default
            shown = "" if default in (None, "", [], {}, ()) else str(default)
            text = f"{says.text} {says.form}".strip()
            rows.append(
                (f"`{name}`", shown, f"{text} Its own option: `{own.option}`." if own.option else text)
            )
        parts += [f"## {panel}", _pipe_table(("setting", "default", "what it is"), rows)]
    return _titled("Settings", parts)


def _python_page() -> str:
    parts = [
        "After `import workbench as wb` a function is `wb.NAME`; it returns what the command of its name prints with `--json`."
        " `Analysis` and `Proof` are what such functions return."
    ]
    for name in api.__all__:
        target = getattr(api, name)
        parts += _python_parts(name, target, level=2)
        if inspect.isclass(target):
            for method, member in inspect.getmembers(target):
                if not method.startswith("_") and (callable(member) or isinstance(member, property)):
                    parts += _python_parts(f"{name}.{method}", member, level=3)
    return _titled("Python", parts)


def _endpoints_page(catalogue: Catalogue) -> str:
    parts = [
        "A row holds the endpoints of a source that share a policy ([what a policy does](../trust/cutoff.md)), the risk that later"
        " knowledge is left in an answer (`--set max_residual` refuses by it), and what the vendor can change without a date."
        " `workbench api-doc PATH` describes one endpoint. `WORKBENCH_UPSTREAM_NAME` replaces a vendor's address."
    ]
    for source in catalogue.sources():
        parts.append(f"## `{source.name}/` {source.title}")
        if source.upstream:
            key = f"Key: `{source.key.variable}`. " if source.key else "No key. "
            parts.append(f"{key}Address: `WORKBENCH_UPSTREAM_{source.upstream}`.")
        groups: dict[tuple[str, int, str], list[str]] = {}
        for endpoint in sorted((e for e in catalogue if e.source.name == source.name), key=lambda e: e.path):
            groups.setdefault(_alike(endpoint), []).append(endpoint.path)
        rows = [
            (policy, RESIDUALS[risk], changes, ", ".join(f"`{path.partition('/')[2]}`" for path in paths))
            for (policy, risk, changes), paths in sorted(groups.items())
        ]
        parts.append(_pipe_table(("policy", "risk", "open to", "endpoints"), rows))
    refused = [e for e in catalogue if e.as_of.policy == "snapshot_refused"]
    parts += [
        "## Refused under a cutoff",
        "These know the present only.",
        _pipe_table(
            ("endpoint", "ask instead"),
            [
                (f"`{e.path}`", f"`{e.as_of.instead}`" if e.as_of.instead else "nothing dated")
                for e in refused
            ],
        ),
    ]
    return _titled("Endpoints", parts)


def _alike(endpoint: Endpoint) -> tuple[str, int, str]:
    as_of = endpoint.as_of
    changes = ", ".join(words for name, words in UNDATED_WORDS.items() if name in as_of.open_to)
    return as_of.policy, RESIDUALS.index(as_of.residual), changes


def _prompts_page() -> str:
    parts = [
        "Every prompt of this version, one file each in `workbench/prompts`. A run goes on with the prompts that it began with."
        " `{{name}}` stands for an input. `workbench transcript RUN` prints what a run was asked, filled in."
    ]
    for name in prompt_names():
        prompt = load(name)
        parts += [
            f"## `{name}`",
            f"Version {prompt.version}. Source: {prompt.source}.",
            f"~~~~~text\n{prompt.body.rstrip()}\n~~~~~",
        ]
    return _titled("Prompts", parts)


def _python_parts(name: str, target: Any, *, level: int) -> list[str]:
    parts = [f"{'#' * level} `{name}`"]
    if callable(target) and not inspect.isclass(target):
        parts.append(f"```python\n{_signature(name, target)}\n```")
    return [*parts, *docstring_parts(inspect.getdoc(target) or "")]


def _signature(name: str, target: Callable[..., Any]) -> str:
    own = [each for each in inspect.signature(target).parameters.values() if each.name != "self"]
    words = [str(each.replace(annotation=inspect.Parameter.empty)) for each in own]
    keyword = next(
        (place for place, each in enumerate(own) if each.kind is inspect.Parameter.KEYWORD_ONLY), None
    )
    if keyword is not None and all(each.kind is not inspect.Parameter.VAR_POSITIONAL for each in own):
        words.insert(keyword, "*")
    line = f"{name}({', '.join(words)})"
    return line if len(line) <= 110 else f"{name}(\n    " + ",\n    ".join(words) + ",\n)"


def docstring_parts(text: str) -> list[str]:
    r"""Return a docstring in numpydoc's form as pieces of Markdown.

    >>> docstring_parts("Return it.\n\nParameters\n----------\np : float\n    A chance.\n")
    ['Return it.', '**Parameters**', '- `p`: float. A chance.']
    """
    opening, *sections = _SECTION.split(text)
    parts = _paragraphs(opening)
    for title, body in zip(sections[::2], sections[1::2], strict=True):
        parts.append(f"**{title}**")
        if title == "Examples":
            parts.append(f"```python\n{body.strip()}\n```")
        elif title in ("Notes", "References"):
            parts += _paragraphs(body)
        else:
            items = re.findall(r"^(\S.*)\n((?:[ ]+.*\n?|\n)*)", body.strip() + "\n", re.MULTILINE)
            parts.append("\n".join(f"- {_item(head, ' '.join(rest.split()))}" for head, rest in items))
    return parts


def _item(head: str, rest: str) -> str:
    name, colon, kind = head.partition(" : ")
    return " ".join(f"`{name}`{f': {kind}.' if colon else ':'} {rest}".split())


def _paragraphs(text: str) -> list[str]:
    pieces = [piece for piece in re.split(r"\n\s*\n", text.strip()) if piece.strip()]
    return [
        f"```python\n{piece}\n```" if piece.lstrip().startswith(">>>") else " ".join(piece.split())
        for piece in pieces
    ]


if __name__ == "__main__":
    write_pages(manual_sources(), Path(sys.argv[1]), reference_pages())
