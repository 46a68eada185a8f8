"""The map of the product's files: a section per folder, a line per file with the first sentence of its docstring. ``make map`` prints it."""

import ast
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("kernels", "proxies", "sandbox", "workbench")


def first_line(path: Path) -> str:
    """First sentence of a file's docstring, on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


def drawn_map(root: Path = ROOT) -> str:
    """Return a section per folder that holds Python files, a line per file."""
    lines: list[str] = []
    for folder in sorted({file.parent for room in ROOMS for file in (root / room).rglob("*.py")}):
        package = folder / "__init__.py"
        about = first_line(package) if package.is_file() else ""
        lines += [f"**`{folder.relative_to(root).as_posix()}/`** {about}".rstrip(), ""]
        files = [file for file in sorted(folder.glob("*.py")) if file != package]
        lines += [f"- `{file.name}`: {first_line(file)}" for file in files]
        lines += [""] if files else []
    return "\n".join(lines)
