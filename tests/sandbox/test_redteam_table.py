"""Every attack that once got through has a test at each level and for each user; ``python -m tests.sandbox.test_redteam_table`` lists them."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.sandbox.test_ordinary_user import IN_EVERY_RUN, WHOLE_ROOM

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Item:
    """What was found, and the test (``folder/file::function``) that shows it closed."""

    what: str
    test: str
    #: why it is no matter of levels, or of the other level
    why: str = ""


_UNMEDIATED = "sandbox/test_unmediated.py::test_no_attack_has_an_effect"
_NO_KERNEL = "no kernel is started"
ITEMS = (
    Item("a package lowers the seal of its verifier", "engine/test_packages.py::test_a_forged_level_never_yields_an_unsealed_kernel", "levels are its matter"),
    Item("a package writes elsewhere, into other runs, or SQL", "engine/test_packages.py::test_a_corpus_of_hostile_packages_changes_nothing", _NO_KERNEL),
    Item("modes, set-user-id, times, attributes of host files", _UNMEDIATED),
    Item("limits, priority, scheduling of other processes", _UNMEDIATED),
    Item("memory, queues, semaphores of System V and POSIX", _UNMEDIATED),
    Item("live names of others' files", _UNMEDIATED),
    Item("a kernel at `landlock` that is root", "sandbox/test_unmediated.py::test_a_kernel_is_never_root_and_no_two_are_the_same_user"),
    Item("counts of late rows in a cell", "sandbox/test_session.py::test_rows_that_came_late_say_nothing_in_a_cell"),
    Item("endless multipart; the loop held", "sandbox/test_hostile_messages.py::test_raw_frames_cost_the_manager_no_memory_and_the_neighbour_no_time"),
    Item("bytes of outputs that do not count", "sandbox/test_hostile_messages.py::test_every_byte_of_an_output_counts"),
    Item("an odd output loses evidence or the session", "sandbox/test_hostile_messages.py::test_an_odd_output_costs_neither_the_session_nor_the_evidence"),
    Item("text lost to a lone surrogate", "sandbox/test_hostile_messages.py::test_a_lone_surrogate_loses_no_text"),
    Item("a channel that ends is a cell that is `ok`", "sandbox/test_hostile_messages.py::test_a_cell_whose_output_channel_ended_died"),
    Item("a bad request ends the wire", "sandbox/test_wire.py::test_an_odd_parameter_is_refused_and_the_wire_goes_on", _NO_KERNEL),
    Item("the disk is not watched between cells", "sandbox/test_disk.py::test_what_a_cell_leaves_writing_is_stopped_while_no_cell_runs", "a private root has a disk of its own"),
    Item("a limit is held against the next cell", "sandbox/test_blame.py::test_what_a_cell_leaves_running_is_held_against_it_and_not_against_the_next"),
    Item("children that ignore the interrupt", "sandbox/test_blame.py::test_children_that_ignore_the_interrupt_end_with_their_cell"),
    Item("a sanitizer of quadratic cost, styles that cover", "sandbox/test_sanitize.py", _NO_KERNEL),
    Item("active content in a proof notebook", "sandbox/test_hostile_messages.py::test_a_proof_notebook_is_passive_and_its_journal_keeps_the_raw_forms"),
    Item("not run then: io_uring, AF_ALG, vsock, keys, bpf and their kin", "sandbox/test_machinery.py::test_no_cell_has_an_effect"),
    Item("not run then: poisoning what kernels share", "sandbox/test_poisoning.py::test_what_a_kernel_does_to_itself_stays_its_own"),
    Item("not run then: zip bombs", "engine/test_package_bombs.py::test_a_bomb_is_refused_in_bounded_memory_and_leaves_nothing", _NO_KERNEL),
)  # fmt: skip


@cache
def _functions(file: str) -> dict[str, ast.AsyncFunctionDef | ast.FunctionDef]:
    tree = ast.parse((ROOT / "tests" / file).read_text(encoding="utf-8"))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def levels(item: Item) -> str:
    """At which levels the test runs, read from its decorators; a test that names none runs at the other in the soak."""
    file, _, name = item.test.partition("::")
    if item.why:
        return item.why
    function = _functions(file)[name]
    if any("LEVELS" in ast.unparse(decorator) for decorator in function.decorator_list):
        return "both"
    return "`namespaces`; `landlock` in the soak" if Path(file).name in WHOLE_ROOM else "one"


def users(item: Item) -> str:
    """For which users it runs."""
    file = Path(item.test.partition("::")[0]).name
    if item.why == _NO_KERNEL:
        return "the user of the suite"
    if file in {f"test_{name}.py" for name in IN_EVERY_RUN}:
        return "root with own ids, ordinary user"
    return "root with own ids; ordinary user in the soak" if file in WHOLE_ROOM else "the user of the suite"


def table() -> str:
    """The table."""
    rows = [f"| {item.what} | `{item.test}` | {levels(item)} | {users(item)} |" for item in ITEMS]
    return "\n".join(["| found | test below `tests/` | levels | users |", "| --- | --- | --- | --- |", *rows])


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.what)
def test_every_item_has_a_test_at_each_level_and_for_each_user(item: Item):
    file, _, name = item.test.partition("::")
    assert (ROOT / "tests" / file).is_file() and (not name or name in _functions(file))
    assert levels(item) != "one", "the test must run at both levels, or say why there is but one"
    if file.startswith("sandbox/") and item.why != _NO_KERNEL:
        assert "ordinary user" in users(item)


if __name__ == "__main__":
    print(table())
