"""docs/architecture.md says what is there: its drawing holds every room in its order, every function of its flows exists."""

import ast
import re
from pathlib import Path

import pytest

from workbench.manual import whole_page

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
ROOMS = ("kernels", "proxies", "sandbox", "workbench")


def drawn_rows(page: str) -> list[list[str]]:
    """The rooms of each box of the page's drawing, from the top."""
    drawing = page.partition("```\n")[2].partition("```")[0]
    rows = [
        re.findall(r"[a-z]+", line[2:].partition("   ")[0]) for line in drawing.splitlines() if line[0] == "│"
    ]
    return [row for row in rows if row]


def room_of(module: str) -> str:
    """``"engine"`` for a file of ``workbench/engine``, ``"proxies"`` for one of ``proxies``."""
    top, _, rest = module.partition(".")
    return rest.partition(".")[0] if top == "workbench" else top


def upward(rows: list[list[str]], imports: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """Imports of one room by another, both drawn, that run against the drawing."""
    level = {room: place for place, row in enumerate(rows) for room in row}
    return {(a, b) for a, b in imports if a in level and b in level and level[b] < level[a]}


def imports_of_rooms() -> set[tuple[str, str]]:
    """Which room imports which, wherever in a file, ``TYPE_CHECKING`` too."""
    pairs: set[tuple[str, str]] = set()
    for top in ("proxies", "sandbox", "workbench"):
        for path in (ROOT / top).rglob("*.py"):
            own = room_of(".".join(path.relative_to(ROOT).with_suffix("").parts))
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
                    names = [f"{node.module}.{alias.name}" for alias in node.names]
                else:
                    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                pairs |= {(own, room_of(name)) for name in names if name.split(".")[0] in ROOMS}
    return pairs


def named_flows() -> list[tuple[str, str]]:
    """Every `module.function` of a numbered line under a heading that begins with Flow, with the heading."""
    found: list[tuple[str, str]] = []
    for part in whole_page(PAGE).split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        if title.startswith("Flow"):
            found += [(title, name) for name in re.findall(r"^\d+\. `([\w./]+)`", body, re.M)]
    return found


def exists(name: str) -> bool:
    """Whether a file defines the class, method or function that a dotted name ends in."""
    parts = name.split(".")
    for cut in range(len(parts) - 1, 0, -1):
        file = ROOT.joinpath(*parts[:cut]).with_suffix(".py")
        if file.is_file():
            body = ast.parse(file.read_text(encoding="utf-8")).body
            for part in parts[cut:]:
                nodes = [
                    node
                    for node in body
                    if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                    and node.name == part
                ]
                if not nodes:
                    return False
                body = nodes[0].body
            return True
    return False


def test_the_drawing_has_every_room_once_in_few_boxes() -> None:
    rows = drawn_rows(whole_page(PAGE))
    folders = {path.parent.name for path in (ROOT / "workbench").glob("*/__init__.py")}
    assert sorted(room for row in rows for room in row) == sorted(
        folders | {"magics", "sandbox", "proxies", "kernels"}
    )
    assert len(rows) <= 15


def test_no_import_runs_against_the_drawing() -> None:
    imports = imports_of_rooms()
    assert ("cli", "engine") in imports and ("sandbox", "proxies") in imports
    assert upward(drawn_rows(whole_page(PAGE)), imports) == set()


def test_an_import_that_runs_upward_is_seen() -> None:
    rows = [["cli", "api"], ["engine"]]
    assert upward(rows, {("cli", "engine"), ("api", "cli"), ("engine", "api")}) == {("engine", "api")}


def test_the_page_can_be_read_in_a_few_minutes() -> None:
    assert len(whole_page(PAGE).splitlines()) <= 200


def test_there_are_flows_for_what_is_followed_most() -> None:
    assert len({title for title, _ in named_flows()}) >= 5 and len(named_flows()) > 40


@pytest.mark.parametrize(("flow", "name"), named_flows(), ids=lambda text: text[:60])
def test_a_function_of_a_flow_exists(flow: str, name: str) -> None:
    assert exists(name), f"{flow}: nothing is named {name}"


def test_every_file_of_the_questions_is_there() -> None:
    files = re.findall(r"^\| .* \| `([\w/.]+)` \|$", whole_page(PAGE), re.MULTILINE)
    assert len(files) == 30 and [file for file in files if not (ROOT / file).is_file()] == []


def test_a_name_that_is_gone_is_seen() -> None:
    assert exists("workbench.engine.flow.Engine.work")
    assert not exists("workbench.engine.flow.Engine.play")
    assert not exists("workbench.engine.gone.Engine")
