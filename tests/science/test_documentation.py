"""Docstrings of the room describe parameters that exist and cite sections that docs/papers.md summarises."""

import importlib
import inspect
import pkgutil
import re
from pathlib import Path
from types import ModuleType

import pytest

import workbench.science
from workbench.manual import whole_page

ROOT = Path(__file__).resolve().parents[2]
PAPERS = {"A": ("Analytica", "paper A"), "B": ("BLF", "paper B"), "P": ("Prophet Arena", "paper P")}
PLACE = r"App\. [A-Z](?:\.\d+)?|[Ss]ections? \d(?:\.\d)?"


def modules() -> list[ModuleType]:
    names = [info.name for info in pkgutil.walk_packages(workbench.science.__path__, "workbench.science.")]
    return [workbench.science, *map(importlib.import_module, names)]


MODULES = [pytest.param(module, id=module.__name__.removeprefix("workbench.")) for module in modules()]
FUNCTIONS = [
    pytest.param(function, id=f"{module.__name__.removeprefix('workbench.')}.{name}")
    for module in modules()
    for name, function in vars(module).items()
    if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_parameter_that_is_described_exists(function: object) -> None:
    section = re.search(
        r"^Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", inspect.getdoc(function) or "", re.M | re.S
    )
    if section is None:
        return
    described = {
        name.strip().lstrip("*")
        for line in section[1].splitlines()
        if line and not line.startswith(" ")
        for name in line.partition(" :")[0].split(",")
    }
    assert described <= set(inspect.signature(function).parameters)  # type: ignore[arg-type]


def cited(text: str) -> set[tuple[str, str]]:
    """(paper, place) for every section of a paper that a text names."""
    flat = " ".join(text.split())
    return {
        (
            key,
            place.replace("Sections", "section").replace("sections", "section").replace("Section", "section"),
        )
        for key, names in PAPERS.items()
        for match in re.finditer(
            rf"\b(?:{'|'.join(names)})(?:'s)?,? \(?((?:{PLACE})(?:(?:, | and )(?:{PLACE}|[A-Z]\.\d+))*)", flat
        )
        for place in re.findall(PLACE, match[1])
    }


def summarised() -> set[tuple[str, str]]:
    """(paper, place) of every heading of docs/papers.md."""
    places, key = set(), ""
    for line in whole_page(ROOT / "docs" / "papers.md").splitlines():
        if match := re.match(r"## Paper ([ABP])\b", line):
            key = match[1]
        elif line.startswith("### "):
            places |= {(key, place) for place in re.findall(PLACE, line)}
    return places


@pytest.mark.parametrize("module", MODULES)
def test_no_reference_leads_outside_the_repository(module: ModuleType) -> None:
    source = inspect.getsource(module)
    assert "FEATURES" not in source and "CONTRACTS" not in source
    assert cited(source) <= summarised()


def test_the_rule_above_sees_a_reference() -> None:
    assert cited('"""Source: BLF, App. C.99;\n    and Prophet Arena, section 3.1 and App. C.3."""') == {
        ("B", "App. C.99"),
        ("P", "section 3.1"),
        ("P", "App. C.3"),
    }
    assert ("B", "App. G.2") in summarised() and ("B", "App. C.99") not in summarised()
