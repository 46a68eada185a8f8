"""Find where control groups can be made for kernels, and operate on their file system.

Two kinds of Linux: version 1 has one tree per controller, and a group there may hold processes and groups at once.
Version 2 has one tree, and a group with processes in it cannot hand controllers on; so ours is made below a group that
hands on ``memory`` and ``pids`` already, or below our own after we alone moved into a leaf of it.
"""

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS = ("memory", "pids")
_OURS = re.compile(r"analyst-(\d+)-(\d+)-(\d+)(-self)?")


class NoGroups(Exception):
    """No control group can be made here; the message names the refusal."""


@dataclass(frozen=True, slots=True)
class Place:
    """The folders below which groups may be made; in version 2 both are one."""

    version: int
    memory: Path
    pids: Path

    @property
    def folders(self) -> tuple[Path, ...]:
        """Each folder once."""
        return (self.memory,) if self.memory == self.pids else (self.memory, self.pids)


class CgroupTree:
    """Operations on a mounted tree of groups; all raise `OSError`."""

    def make(self, folder: Path) -> None:
        """Make a group."""
        os.mkdir(folder)

    def remove(self, folder: Path) -> None:
        """Remove a group without processes and groups."""
        os.rmdir(folder)

    def read(self, folder: Path, name: str) -> str:
        """Read a file of a group."""
        return (folder / name).read_text()

    def write(self, folder: Path, name: str, text: str) -> None:
        """Write a file of a group; a missing one is not created."""
        descriptor = os.open(folder / name, os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(descriptor, text.encode())
        finally:
            os.close(descriptor)

    def groups(self, folder: Path) -> list[Path]:
        """List the groups right below one."""
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]

    def processes(self, folder: Path) -> list[int]:
        """List the process ids in a group, without those of other process namespaces, which read 0."""
        return [pid for pid in map(int, self.read(folder, "cgroup.procs").split()) if pid]


def identity(pid: int) -> str:
    """Return process namespace, process id and start time as one unique text; raises `OSError`.

    The start time matters because Linux gives a process id out again.
    """
    space = os.stat("/proc/self/ns/pid").st_ino
    # counted from the last bracket: before it stands the name of the program, which may hold spaces and brackets
    began = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{space}-{pid}-{began}"


def is_orphan(name: str) -> bool:
    """Whether the group of that name was made by an ended process of this namespace."""
    match = _OURS.fullmatch(name)
    if match is None or int(match[1]) != os.stat("/proc/self/ns/pid").st_ino:
        return False
    try:
        return identity(int(match[2])) != f"{match[1]}-{match[2]}-{match[3]}"
    except OSError:
        return True


def find_place(mounts: str, memberships: str, tree: CgroupTree) -> Place:
    """Find where groups may be made; making one may still be refused.

    Raises `NoGroups`.
    """
    lines = [line.split(":", 2) for line in memberships.splitlines()]
    joined = {name: path for _, names, path in lines for name in names.split(",")}
    mounted = list(_mounts(mounts))
    first: dict[str, Path] = {}
    for controller in CONTROLLERS:
        for kind, root, point, options in mounted:
            if kind == "cgroup" and controller in options and controller in joined:
                first[controller] = _below(point, root, joined[controller])
    # Version 1 first: many systems mount both trees, and a controller that version 1 has is not offered in version 2.
    if len(first) == len(CONTROLLERS):
        return Place(1, first["memory"], first["pids"])
    for kind, root, point, _ in mounted:
        if kind == "cgroup2" and "" in joined:
            return _delegated(_below(point, root, joined[""]), point, tree)
    raise NoGroups("no tree of control groups is mounted")


def _delegated(group: Path, top: Path, tree: CgroupTree) -> Place:
    try:
        offered = tree.read(group, "cgroup.controllers").split()
        missing = [name for name in CONTROLLERS if name not in offered]
        if missing:
            raise NoGroups(f"our group of version 2 was not given {' and '.join(missing)}")
        if _delegates(group, tree):
            return Place(2, group, group)
        parent = group.parent
        # a limit that somebody set on our own group would not hold beside it
        if (
            group != top
            and _delegates(parent, tree)
            and not _limited(group, tree)
            and os.access(parent, os.W_OK)
        ):
            return Place(2, parent, parent)
        _move_into_leaf(group, tree)
    except OSError as error:
        raise NoGroups(f"our group of version 2 is not ours to divide: {error}") from error
    return Place(2, group, group)


def _delegates(folder: Path, tree: CgroupTree) -> bool:
    return set(CONTROLLERS) <= set(tree.read(folder, "cgroup.subtree_control").split())


def _limited(group: Path, tree: CgroupTree) -> bool:
    return any(tree.read(group, f"{name}.max").strip() != "max" for name in CONTROLLERS)


def _move_into_leaf(group: Path, tree: CgroupTree) -> None:
    """Move ourselves into a leaf of our group: version 2 allows no processes where controllers are passed on."""
    ours = {os.getpid(), *_descendants(os.getpid())}
    inside = tree.processes(group)
    strangers = len(set(inside) - ours)
    if strangers:
        raise NoGroups(f"our group of version 2 is shared with {strangers} other processes")
    leaf = group / f"analyst-{identity(os.getpid())}-self"
    tree.make(leaf)
    try:
        for pid in inside:
            tree.write(leaf, "cgroup.procs", str(pid))
        tree.write(group, "cgroup.subtree_control", "+memory +pids")
    except OSError:
        for pid in tree.processes(leaf):
            tree.write(group, "cgroup.procs", str(pid))
        tree.remove(leaf)
        raise


def _descendants(pid: int) -> Iterator[int]:
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in map(int, path.read_text().split()):
            yield child
            yield from _descendants(child)


def _mounts(mounts: str) -> Iterator[tuple[str, str, Path, list[str]]]:
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        fields, (kind, _, options) = before.split(), after.split(maxsplit=2)
        if kind in ("cgroup", "cgroup2"):
            yield (
                kind,
                fields[3],
                # mountinfo writes a space in a path as \040
                Path(re.sub(r"\\(\d{3})", lambda m: chr(int(m[1], 8)), fields[4])),
                options.split(","),
            )


def _below(point: Path, root: str, path: str) -> Path:
    relative = os.path.relpath(path, root)
    if relative.startswith(".."):
        raise NoGroups("our own control group lies outside what is mounted here")
    return point / relative


def is_busy(error: OSError) -> bool:
    """Whether a group could not be removed because it is not empty."""
    return error.errno in (errno.EBUSY, errno.ENOTEMPTY)
