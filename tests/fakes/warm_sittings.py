"""Imported by the fork server alone: one sitting, so that every later one finds catalogue, price list and schemas read."""

import tempfile
from contextlib import closing
from pathlib import Path

from tests.fakes.asking_run import open_run
from tests.fakes.sittings import sitting
from workbench.store import Store

with tempfile.TemporaryDirectory() as folder:
    with closing(Store(Path(folder))) as store:
        run_id = open_run(store)
    sitting(Path(folder), run_id, leaves=2)
