"""Where groups can be made, and what is written into them, in trees of version 2 that this machine may not have."""

import contextlib
import os
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.limits.cgroup_tree import CgroupTree, NoGroups, Place, find_place, identity, is_orphan
from sandbox.limits.cgroups import Groups, remove_orphaned_groups
from sandbox.limits.memory import MemoryWatch
from tests.fakes.cgroup2 import FakeTree

pytestmark = pytest.mark.long

US = str(os.getpid())


def _mounts(top: Path) -> str:
    return (
        f"30 23 0:26 / {top} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n31 23 0:5 / /proc rw - proc proc rw\n"
    )


def _no_trial(group: object) -> None:
    return None


@pytest.fixture
def tree(tmp_path: Path) -> FakeTree:
    made = FakeTree(tmp_path / "cgroup")
    made.write(made.top, "cgroup.subtree_control", "+memory +pids")
    return made


def _child(tree: FakeTree, *names: str) -> Path:
    folder = tree.top
    for name in names:
        if tree.read(folder, "cgroup.subtree_control") == "":
            tree.write(folder, "cgroup.subtree_control", "+memory +pids")
        folder = folder / name
        if not folder.exists():
            tree.make(folder)
    return folder


def test_version_one_has_a_folder_for_each_controller():
    mounts = (
        "32 31 0:32 / /sys/fs/cgroup/memory rw shared:9 - cgroup cgroup rw,memory\n"
        "33 31 0:36 /docker/c0 /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n"
        "34 31 0:37 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
    )
    own = "8:pids:/docker/c0\n4:memory:/a/b\n1:name=systemd:/x\n0::/\n"
    base = Path("/sys/fs/cgroup")
    assert find_place(mounts, own, CgroupTree()) == Place(1, base / "memory/a/b", base / "pids")
    outside = own.replace("/docker/c0", "/docker/other")
    with pytest.raises(NoGroups, match="outside what is mounted"):
        find_place(mounts, outside, CgroupTree())
    with pytest.raises(NoGroups, match="no tree"):
        find_place("", own, CgroupTree())


def test_a_group_that_hands_both_controllers_on_is_used_as_it_is(tree: FakeTree):
    own = _child(tree, "user")
    tree.write(own, "cgroup.subtree_control", "+memory +pids")
    assert find_place(_mounts(tree.top), "0::/user\n", tree) == Place(2, own, own)


def test_a_scope_under_a_delegated_slice_uses_the_slice(tree: FakeTree):
    scope = _child(tree, "app.slice", "run.scope")
    for pid in (US, "1"):
        tree.write(scope, "cgroup.procs", pid)
    place = find_place(_mounts(tree.top), "0::/app.slice/run.scope\n", tree)
    assert place == Place(2, tree.top / "app.slice", tree.top / "app.slice")
    # a limit of our own group would not hold for groups beside it
    tree.write(scope, "memory.max", "1000000")
    with pytest.raises(NoGroups, match="shared with 1 other"):
        find_place(_mounts(tree.top), "0::/app.slice/run.scope\n", tree)


def test_a_group_delegated_to_us_alone_is_divided_from_a_leaf(tree: FakeTree):
    own = _child(tree, "service")
    tree.write(own, "cgroup.procs", US)
    tree.write(own, "memory.max", "1000000")
    place = find_place(_mounts(tree.top), "0::/service\n", tree)
    assert place == Place(2, own, own)
    assert tree.processes(own) == []
    [leaf] = tree.groups(own)
    assert tree.processes(leaf) == [int(US)]
    assert set(tree.read(own, "cgroup.subtree_control").split()) == {"memory", "pids"}


@pytest.mark.parametrize("controllers", ["", "cpu pids", "memory"])
def test_without_its_controllers_a_group_is_of_no_use(tmp_path: Path, controllers: str):
    tree = FakeTree(tmp_path / "cgroup", controllers)
    with pytest.raises(NoGroups, match="was not given"):
        find_place(_mounts(tree.top), "0::/\n", tree)


def test_version_two_is_bounded_read_and_removed(tree: FakeTree):
    groups = Groups(Place(2, tree.top, tree.top), tree, _no_trial)
    group = groups.make()
    [ours] = [folder for folder in tree.groups(tree.top) if folder.name.startswith("analyst-")]
    [folder] = tree.groups(ours)
    (folder / "memory.current").write_text("5000000")
    with subprocess.Popen(["sleep", "60"]) as kernel:
        group.join(kernel.pid)
        group.set_limits(64 << 20, 40)
        assert group.processes() == [kernel.pid]
        assert int((folder / "memory.max").read_text()) == 5_000_000 + (64 << 20) + (16 << 20)
        assert [(folder / name).read_text() for name in ("memory.swap.max", "pids.max")] == ["0", "40"]
        tree.set(folder, "memory.stat", anon=7, shmem=3)
        assert group.memory_use() == (7, 3) and group.limit_events() == (0, 0)
        tree.set(folder, "memory.events", oom_kill=1)
        tree.set(folder, "pids.events", max=9)
        # what is still inside after the kernel's end is killed
        groups.retire(group)
        assert kernel.wait(60) == -9
        (folder / "cgroup.procs").write_text("")
    groups.close()
    assert tree.groups(tree.top) == []
    assert group.limit_events() == (1, 9)


def test_a_group_that_another_thread_removed_is_gone_as_a_whole(tree: FakeTree):
    """The thread that removes groups and the end of our process meet on one group, and go on to the group above it."""

    def remove(group: Path) -> None:
        together.wait(60)
        for folder in (group, group.parent):
            with contextlib.suppress(FileNotFoundError):  # the other was first; anything else is a fault
                tree.remove(folder)

    together = threading.Barrier(2)
    with ThreadPoolExecutor(2) as threads:
        for number in range(200):
            group = _child(tree, f"process-{number}", "kernel")
            for removal in [threads.submit(remove, group) for _ in range(2)]:
                removal.result(10)
            assert tree.groups(tree.top) == []


def test_a_tree_that_refuses_leaves_nothing(tree: FakeTree):
    def refuse(group: object) -> None:
        raise NoGroups("limits do not bite")

    with pytest.raises(NoGroups, match="do not bite"):
        Groups(Place(2, tree.top, tree.top), tree, refuse)
    assert tree.groups(tree.top) == []


def test_groups_of_the_dead_are_swept_and_those_of_the_living_are_not(tree: FakeTree):
    mine = f"analyst-{identity(os.getpid())}"
    space, pid, began = identity(os.getpid()).split("-")
    dead = f"analyst-{space}-{pid}-{int(began) - 1}"  # our number, an earlier process
    elsewhere = f"analyst-1-{2**22 + 1}-5"  # a process namespace that we cannot see into
    gone = f"analyst-{space}-{2**22 + 1}-5"
    for name in (mine, dead, elsewhere, gone, "system.slice", "analyst-x"):
        _child(tree, name, "kernel-1")
    assert remove_orphaned_groups(tree.top, tree) == 2
    assert {folder.name for folder in tree.groups(tree.top)} == {mine, elsewhere, "system.slice", "analyst-x"}
    assert is_orphan(f"{gone}-self") and not is_orphan(f"{mine}-self")


@given(
    use=st.tuples(*[st.integers(0, 1 << 40)] * 2),
    share=st.integers(0, 1 << 40),
    before=st.integers(0, 1 << 20),
)
def test_what_a_group_holds_beyond_the_share_of_files_is_used(use: tuple[int, int], share: int, before: int):
    now = (before, 0)
    group: Any = SimpleNamespace(memory_use=lambda: now, limit_events=lambda: (0, 0))
    watch = MemoryWatch(SimpleNamespace(process=SimpleNamespace(pid=0), group=group), 64, share)  # type: ignore[arg-type]
    assert watch.used() == 0
    now = use
    private, files = use
    assert watch.used() == private - before + (files - share if files > share else 0)
