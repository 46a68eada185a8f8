"""The forecaster that cells import brings all of ours that it needs, and nothing of it asks for a room that a kernel has not."""

import ast
import json

import pytest

from workbench.engine.leaves import forecast_library as library


def test_nothing_in_it_imports_a_room_that_a_kernel_has_not() -> None:
    modules = json.loads(library.forecast_library().text)
    assert {"forecaster.leaf_forecast", "forecaster.errors", "forecaster.remedies"} <= {*modules}
    for name, text in modules.items():
        assert library._own_imports(text) == [], name
        imported = [node.module for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
        own = {each for each in imported if each and each.startswith("forecaster.")}
        assert own <= {*modules} | {each.rpartition(".")[0] for each in modules}, name


@pytest.mark.parametrize("line", ["from proxies.broker import Broker", "import sandbox.errors"])
def test_an_import_of_another_room_is_seen(line: str) -> None:
    assert library._own_imports(line) and not library._own_imports("import numpy.random")
