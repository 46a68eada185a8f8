"""The forecaster that cells import brings all of ours that it needs, and nothing of it asks for a room that a kernel has not."""

import ast
import json

from workbench.engine.leaves import forecast_library as library


def test_nothing_in_it_imports_a_room_that_a_kernel_has_not() -> None:
    modules = json.loads(library.forecast_library().text)
    assert {"forecaster.leaf_forecast", "forecaster.errors", "forecaster.remedies"} <= {*modules}
    for name, text in modules.items():
        nodes = list(ast.walk(ast.parse(text)))
        imported = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        imported += [each.name for node in nodes if isinstance(node, ast.Import) for each in node.names]
        assert not {each.partition(".")[0] for each in imported} & {"proxies", "sandbox", "workbench"}, name
        own = {each for each in imported if each.startswith("forecaster.")}
        assert own <= {*modules} | {each.rpartition(".")[0] for each in modules}, name
