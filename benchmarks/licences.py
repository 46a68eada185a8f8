"""The licences of all installed packages, as their own metadata state them: ``python -m benchmarks.licences``, offline.

Exits 1 where a package states none, or one under which the workbench could not be passed on as it is.
"""

import sys
from collections import defaultdict
from importlib.metadata import Distribution, distributions

#: Words of licences that ask more of a whole program than to keep a notice.
UNFIT = ("AFFERO", "AGPL", "SSPL", "COMMONS CLAUSE", "BUSL", "NON-COMMERCIAL", "PROPRIETARY")
#: Packages whose metadata state no licence, with the one in their repository.
KNOWN = {"fredapi": "Apache-2.0", "peewee": "MIT", "axe-playwright-python": "MIT"}


def licence_of(package: Distribution) -> str:
    """The licence that a package states, in one short line; empty if it states none."""
    facts = package.metadata.json
    stated = str(facts.get("license_expression") or "")
    kinds = [
        each.rpartition(" :: ")[2]
        for each in package.metadata.get_all("Classifier") or ()
        if each.startswith("License :: ")
    ]
    text = stated or ", ".join(kinds) or " ".join((str(facts.get("license") or "")).split())
    return KNOWN.get(package.name.lower(), text[:60])


def main() -> None:
    """Print packages by licence, then those that need a look."""
    by_licence: defaultdict[str, list[str]] = defaultdict(list)
    for package in distributions():
        if package.name == "analyst-workbench":
            continue
        by_licence[licence_of(package)].append(package.name)
    for licence, names in sorted(by_licence.items()):
        print(f"{licence or 'NONE STATED'}: {', '.join(sorted(set(names), key=str.lower))}")
    unfit = sorted(licence for licence in by_licence if any(word in licence.upper() for word in UNFIT))
    if unfit or by_licence.get(""):
        sys.exit(f"look at: {', '.join([*unfit, *by_licence.get('', [])])}")


if __name__ == "__main__":
    main()
