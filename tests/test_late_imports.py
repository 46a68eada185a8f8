"""An import inside a function has its reason: it brings in a heavy or optional library, or a comment says why it waits.

Which libraries are heavy stands here once, so that not every line has to say it again. A file of ours that loads one of them when
it is imported counts as heavy itself, unless the importing file loads that library anyway.
"""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

#: Library -> why a file may wait to import it.
HEAVY = {
    **dict.fromkeys(("numpy", "pandas", "scipy", "statsmodels", "arch", "matplotlib"), "0.1 to 1.5 s; most commands count nothing"),
    **dict.fromkeys(("litellm",), "1 to 2 s; only for a model of a provider"),
    **dict.fromkeys(("voila", "ipykernel", "IPython", "ipywidgets", "anywidget"), "Jupyter's screens; `import workbench` stays light"),
    **dict.fromkeys(("jupyter_client", "nbformat"), "0.1 s; only where a kernel is started or a notebook read"),
    **dict.fromkeys(("distributed", "dask"), "optional, a second; never loaded unless workers are asked for"),
    **dict.fromkeys(("mcp", "uvicorn"), "0.5 s; only for the MCP server"),
    **dict.fromkeys(("docx", "PIL", "mistune", "nh3", "jinja2"), "only where a document is written"),
    **dict.fromkeys(("selectolax", "tinycss2", "Stemmer"), "only where a page or the catalogue is read"),
    **dict.fromkeys(("httpx", "curl_cffi"), "0.1 s; only where something is fetched"),
    **dict.fromkeys(("duckdb", "sqlglot", "sqlalchemy", "openpyxl", "pyarrow"), "0.05 to 0.5 s; only where data of one's own are read"),
    **dict.fromkeys(("authlib",), "optional; only for a service that changes a key for a token"),
    **dict.fromkeys(("cryptography",), "0.05 s; only where something is signed"),
    **dict.fromkeys(("yaml", "dotenv", "typer", "rich", "orjson", "pydantic", "pydantic_core"), "0.02 to 0.1 s each, which a quick command feels"),
}  # fmt: skip

Module = tuple[str, ast.Module, list[str]]


def modules(root: Path) -> dict[str, Module]:
    """Dotted name -> (path, tree, lines) of every file of the three packages."""
    made: dict[str, Module] = {}
    for top in ("workbench", "sandbox", "proxies"):
        for path in sorted((root / top).rglob("*.py")):
            name = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
            text = path.read_text(encoding="utf-8")
            made[name] = (path.relative_to(root).as_posix(), ast.parse(text), text.splitlines())
    return made


def named(node: ast.Import | ast.ImportFrom, known: Mapping[str, Module]) -> list[str]:
    """What an import statement loads, as dotted names."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    names = [f"{node.module}.{alias.name}" for alias in node.names]
    return [name if name in known else str(node.module) for name in names]


def at_import(nodes: list[ast.stmt], known: Mapping[str, Module]) -> Iterator[str]:
    """What a file loads when it is imported: its own top level, without what is there for types alone."""
    for node in nodes:
        match node:
            case ast.Import() | ast.ImportFrom(level=0):
                yield from named(node, known)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from at_import(node.orelse, known)
            case ast.If():
                yield from at_import([*node.body, *node.orelse], known)
            case ast.Try():
                yield from at_import(node.body, known)


def unexplained(known: Mapping[str, Module]) -> list[str]:
    """``path:line`` of each import inside a function without a reason."""
    loads = {name: {*at_import(tree.body, known)} for name, (_, tree, _) in known.items()}
    memory: dict[str, frozenset[str]] = {}

    def heavy(name: str) -> frozenset[str]:
        if name not in memory:
            waiting, seen, libraries = [name], set(), set()
            while waiting:
                each = waiting.pop()
                if each in seen:
                    continue
                seen.add(each)
                if (top := each.partition(".")[0]) in HEAVY:
                    libraries.add(top)
                parents = each.split(".")[:-1]
                packages = [".".join(parents[:count]) for count in range(1, len(parents) + 1)]
                waiting += [*loads.get(each, ()), *(package for package in packages if package in loads)]
            memory[name] = frozenset(libraries)
        return memory[name]

    found = []
    for name, (path, tree, lines) in known.items():
        inside = {
            node.lineno: node
            for function in ast.walk(tree)
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
            for node in ast.walk(function)
            if isinstance(node, ast.Import | ast.ImportFrom)
        }
        for line, node in inside.items():
            brought = frozenset[str]().union(*(heavy(each) for each in named(node, known)))
            if not brought - heavy(name) and not commented(line, inside, lines):
                found.append(f"{path}:{line}")
    return found


def commented(line: int, inside: Mapping[int, ast.stmt], lines: list[str]) -> bool:
    """Whether a comment stands at an import, or above it and its neighbours."""
    if "#" in lines[line - 1]:
        return True
    while line - 1 in inside:
        line -= 1
    return lines[line - 2].lstrip().startswith("#")


def test_an_import_inside_a_function_has_its_reason() -> None:
    assert unexplained(modules(ROOT)) == []


def test_one_without_a_reason_is_seen_and_its_neighbours_are_let_through(tmp_path: Path) -> None:
    files = {
        "workbench/light.py": "import json\n",
        "workbench/counting.py": "import pandas\n",
        "workbench/a.py": "def f():\n    import json\n\ndef g():\n    import pandas\n\ndef h():\n    from workbench.counting import x\n",
        "workbench/b.py": "import pandas\n\ndef f():\n    from workbench.counting import x\n",
        "workbench/c.py": "def f():\n    # a circle otherwise\n    import json\n    from workbench.light import x\n",
    }
    for name, source in files.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(source)
    assert unexplained(modules(tmp_path)) == ["workbench/a.py:2", "workbench/b.py:4"]
