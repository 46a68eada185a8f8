"""docs/architecture.md says what is there: every file is on its map, every function of its flows exists.

``python -m tests.test_architecture_page`` writes the map anew from the first lines of the files.
"""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
ROOMS = ("kernels", "proxies", "sandbox", "workbench")
BEGIN, END = "<!-- map: begin -->", "<!-- map: end -->"


def first_line(path: Path) -> str:
    """First sentence of a file's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def drawn_map() -> str:
    """A section per folder that holds Python files, a line per file."""
    lines: list[str] = []
    folders = sorted({file.parent for room in ROOMS for file in (ROOT / room).rglob("*.py")})
    for folder in folders:
        package = folder / "__init__.py"
        about = first_line(package) if package.is_file() else ""
        lines += [f"**`{folder.relative_to(ROOT).as_posix()}/`** {about}".rstrip(), ""]
        files = [file for file in sorted(folder.glob("*.py")) if file != package]
        lines += [f"- `{file.name}`: {first_line(file)}" for file in files]
        lines += [""] if files else []
    return "\n".join(lines)


def named_flows() -> list[tuple[str, str]]:
    """Every `module.function` of a numbered line under a heading that begins with Flow, with the heading."""
    found: list[tuple[str, str]] = []
    for part in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
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


def test_every_file_is_on_the_map_with_its_first_line() -> None:
    drawn = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0].strip()
    assert drawn == drawn_map().strip(), "write it anew: python -m tests.test_architecture_page"


def test_there_are_flows_for_what_is_followed_most() -> None:
    assert len({title for title, _ in named_flows()}) >= 5 and len(named_flows()) > 40


@pytest.mark.parametrize(("flow", "name"), named_flows(), ids=lambda text: text[:60])
def test_a_function_of_a_flow_exists(flow: str, name: str) -> None:
    assert exists(name), f"{flow}: nothing is named {name}"


def test_a_name_that_is_gone_is_seen() -> None:
    assert exists("workbench.engine.flow.Engine.work")
    assert not exists("workbench.engine.flow.Engine.play")
    assert not exists("workbench.engine.gone.Engine")


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    PAGE.write_text(
        f"{before}{BEGIN}\n\n{drawn_map().strip()}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
    )
