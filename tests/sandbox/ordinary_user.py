"""Run a command as an ordinary user although the tests run as root, also where Python lies in root's home.

In a mount namespace of its own, an empty folder takes the place of root's home; the interpreter and the checkout are
bound back into it. The host sees nothing of this.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

UID = 64_123


def possible() -> str | None:
    """None when it can be done here, else the reason why not."""
    if os.geteuid() != 0:
        return "the tests run as an ordinary user already"
    for tool in ("unshare", "setpriv", "mount"):
        if shutil.which(tool) is None:
            return f"no {tool} here"
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        return "mount namespaces are refused"
    return None


def run(
    command: list[str], folder: Path, *, seconds: int = 280, **environment: str
) -> subprocess.CompletedProcess[str]:
    """Run `command` as user `UID` with `folder` as its home."""
    folder.mkdir(parents=True, exist_ok=True)
    os.chown(folder, UID, UID)
    for parent in [folder, *folder.parents]:
        if parent.is_relative_to("/tmp") and parent != Path("/tmp"):
            os.chmod(parent, 0o755)
    home = Path("/root")
    needed = {Path(sys.base_prefix), Path(sys.prefix), Path(__file__).resolve().parents[2]}
    inside = sorted(path for path in needed if path.is_relative_to(home))
    script = ["set -e"]
    for number, path in enumerate(inside):
        script += [f"mkdir -p {folder}/keep{number}", f"mount --bind {path} {folder}/keep{number}"]
    script += [f"mount -t tmpfs -o mode=755 tmpfs {home}", "umask 022"]
    for number, path in enumerate(inside):
        script += [f"mkdir -p {path}", f"mount --bind {folder}/keep{number} {path}"]
    script += [
        f'exec setpriv --reuid {UID} --regid {UID} --clear-groups --inh-caps=-all --bounding-set=-all "$@"'
    ]
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", "\n".join(script), "sh", *command],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "TMPDIR": str(folder),
            "LANG": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1",
            "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis"),
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
