"""Whether this commit may be released: its tag, the version and the changelog say the same."""

import re
import subprocess
from pathlib import Path

from workbench.version import __version__

ROOT = Path(__file__).resolve().parents[1]


def faults(version: str, tags: list[str], changelog: str, changed: str) -> list[str]:
    """Return what stands in the way of a release, one line each with its mend.

    Parameters
    ----------
    version : str
        That of the package.
    tags : list of str
        Tags of the commit.
    changelog : str
        The whole text.
    changed : str
        What ``git status --porcelain`` prints.
    """
    found = []
    if changed.strip():
        found.append("there are changes that are not committed: commit them")
    if f"v{version}" not in tags:
        found.append(f"this commit has no tag v{version}: git tag -s v{version}, or set workbench/version.py")
    sections = re.findall(r"^## \[(.+?)\](?: - (\d{4}-\d\d-\d\d))?$", changelog, re.MULTILINE)
    newest = next(((name, day) for name, day in sections if name != "Unreleased"), ("none", ""))
    if newest[0] != version or not newest[1]:
        found.append(
            f"the newest section of CHANGELOG.md is {newest[0]}: head it '## [{version}] - YYYY-MM-DD'"
        )
    return found


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    if said := faults(
        __version__,
        _git("tag", "--points-at", "HEAD").split(),
        (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"),
        _git("status", "--porcelain"),
    ):
        raise SystemExit("\n".join(said))
