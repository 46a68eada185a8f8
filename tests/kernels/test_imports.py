import ast
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "kernels" / "analyst"
SIBLINGS = {path.stem for path in FOLDER.glob("*.py")}
STACK = {"IPython", "ipykernel", "jupyter_client", "traitlets", "zmq", "tornado", "comm", "matplotlib_inline"}
LAZY = {"numpy", "pandas", "fredapi", "yfinance"}
OURS = {"workbench", "sandbox", "proxies"}


def _imports(tree: ast.AST):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node, alias.name.partition(".")[0]) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "a relative import: this folder is no package"
            yield node, (node.module or "").partition(".")[0]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.name)
def test_code_inside_the_sandbox_imports_nothing_of_ours(path: Path):
    tree = ast.parse(path.read_text())
    top_level = {node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)}
    for node, name in _imports(tree):
        assert name not in OURS
        allowed = {*sys.stdlib_module_names, *SIBLINGS, *STACK}
        assert name in allowed or (name in LAZY and node not in top_level), f"{path.name} imports {name}"


@pytest.mark.parametrize("name", ["isolation", "seccomp", "launch", "zygote", "call_api", "probe"])
def test_what_runs_before_the_seal_is_standard_library_alone(name: str):
    tree = ast.parse((FOLDER / f"{name}.py").read_text())
    top_level = {node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)}
    for node, module in _imports(tree):
        if node in top_level:
            assert module in sys.stdlib_module_names


def test_the_folder_is_no_package():
    assert not (FOLDER / "__init__.py").exists()
