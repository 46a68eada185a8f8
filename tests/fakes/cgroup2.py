"""Trees of control groups of version 2: one in an ordinary folder, with the rules of Linux that our code relies on, and one over groups of version 1."""

import contextlib
import errno
import itertools
import os
import re
from pathlib import Path

from sandbox.limits.cgroup_tree import CgroupTree

_TOP = {
    "cgroup.controllers": "",
    "cgroup.subtree_control": "",
    "cgroup.procs": "",
    "memory.max": "max",
    "memory.swap.max": "max",
    "memory.current": "0",
    "memory.stat": "anon 0\nshmem 0\n",
    "memory.events": "low 0\nmax 0\noom 0\noom_kill 0\n",
    "pids.max": "max",
    "pids.events": "max 0\n",
}


class FakeTree(CgroupTree):
    """Groups are folders; their files appear and go with them, controllers and processes obey version 2."""

    def __init__(self, top: Path, controllers: str = "cpuset cpu io memory pids", *, real_root: bool = True):
        self.top = top
        self.real_root = real_root
        self._removals = itertools.count(1)
        top.mkdir(parents=True, exist_ok=True)
        self._fill(top, controllers)

    def _fill(self, folder: Path, controllers: str) -> None:
        for name, text in _TOP.items():
            if name.partition(".")[0] in ("cgroup", *controllers.split()):
                (folder / name).write_text(text)
        (folder / "cgroup.controllers").write_text(controllers)

    def make(self, folder: Path) -> None:
        super().make(folder)
        self._fill(folder, self.read(folder.parent, "cgroup.subtree_control"))

    def remove(self, folder: Path) -> None:
        if self.groups(folder) or self.processes(folder):
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))
        # Linux takes a group away at once: who removes it beside another finds all of it or nothing
        os.rename(folder, self.top.with_name(f"{self.top.name}-removed-{next(self._removals)}"))

    def write(self, folder: Path, name: str, text: str) -> None:
        if name == "cgroup.procs":
            return self._move(folder, text)
        if name == "cgroup.subtree_control":
            wanted = [word.removeprefix("+") for word in text.split()]
            if not set(wanted) <= set(self.read(folder, "cgroup.controllers").split()):
                raise OSError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
            if self.processes(folder) and not (folder == self.top and self.real_root):
                raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))
            text = " ".join({*self.read(folder, name).split(), *wanted})
        path = folder / name
        if not path.exists():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        path.write_text(text)
        return None

    def _move(self, folder: Path, pid: str) -> None:
        if self.read(folder, "cgroup.subtree_control").strip() and folder != self.top:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), str(folder))
        for path in [self.top, *(path for path in self.top.rglob("*") if path.is_dir())]:
            inside = [other for other in self.read(path, "cgroup.procs").split() if other != pid]
            (path / "cgroup.procs").write_text("\n".join(inside))
        with open(folder / "cgroup.procs", "a") as file:
            file.write(f"\n{pid}")

    def set(self, folder: Path, name: str, **fields: int) -> None:
        """What Linux counts: change numbers in a file of lines ``name number``."""
        text = self.read(folder, name)
        for key, value in fields.items():
            text = re.sub(rf"^{key} \d+$", f"{key} {value}", text, flags=re.M)
        (folder / name).write_text(text)


class OverVersionOne(CgroupTree):
    """Version 2 as our code sees it, on a machine of version 1: Linux bounds, counts and kills, under the names of version 2.

    ``memory`` and ``pids`` are the folders of version 1; groups are named by those of memory.
    """

    def __init__(self, memory: Path, pids: Path) -> None:
        self._memory, self._pids = memory, pids

    def _twin(self, folder: Path) -> Path:
        return self._pids / folder.relative_to(self._memory)

    def make(self, folder: Path) -> None:
        super().make(folder)
        super().make(self._twin(folder))

    def remove(self, folder: Path) -> None:
        # a process that is ending counts in the twin for a moment longer: refused then, and asked again for both
        with contextlib.suppress(FileNotFoundError):
            super().remove(self._twin(folder))
        super().remove(folder)

    def read(self, folder: Path, name: str) -> str:
        read = super().read
        match name:
            case "memory.current":
                return read(folder, "memory.usage_in_bytes")
            case "memory.stat":
                fields = dict(line.split() for line in read(folder, name).splitlines())
                return f"anon {fields['total_rss']}\nshmem {fields['total_shmem']}\n"
            case "memory.events":
                return read(folder, "memory.oom_control")
            case "pids.events":
                return read(self._twin(folder), name)
            case "cgroup.procs":
                return read(folder, name)
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{folder}/{name}")

    def write(self, folder: Path, name: str, text: str) -> None:
        match name:
            case "cgroup.subtree_control":
                return  # version 1 hands every controller on
            case "memory.max":
                super().write(folder, "memory.limit_in_bytes", text)
            case "memory.swap.max":
                limit = super().read(folder, "memory.limit_in_bytes")
                super().write(folder, "memory.memsw.limit_in_bytes", limit)
            case "pids.max":
                super().write(self._twin(folder), name, text)
            case "cgroup.procs":
                super().write(folder, name, text)
                super().write(self._twin(folder), name, text)
            case _:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{folder}/{name}")
