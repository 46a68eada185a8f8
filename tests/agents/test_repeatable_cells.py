"""A cell whose output differs at each run is told to the model with the outputs of its step, with its reason and what mends it."""

import pytest

from tests.agents.scripted import ScriptedAsker, fake_session, leaf_task
from tests.fakes.model_policy import cells, conclusion
from tests.fakes.sandbox import printed
from workbench.agents.base import Grounding
from workbench.agents.findings.repeatable_cells import CHANCE, CLOCK, MACHINE, RepeatableCells
from workbench.agents.grounders.notebook_grounder import NotebookGrounder

VARY = {
    "from datetime import datetime\nprint(datetime.now())": CLOCK,
    "import datetime as d\nprint(f'as of {d.datetime.utcnow():%H:%M}')": CLOCK,
    "import time\nt = time.time()\nprint('now', t)": CLOCK,
    "from time import time\ntime()": CLOCK,
    "import pandas as pd\npd.Timestamp.now()": CLOCK,
    "import numpy as np\nprint(np.datetime64('now'))": CLOCK,
    "%timeit sum(range(9))": CLOCK,
    "import time\ndef clock():\n    return time.time()\nprint(clock())": CLOCK,
    "import os\nprint(os.urandom(4))": CHANCE,
    "import uuid\nprint(uuid.uuid4())": CHANCE,
    "import random\nprint(random.SystemRandom().random())": CHANCE,
    "from secrets import token_hex\nprint(token_hex(4))": CHANCE,
    "!id": MACHINE,
    "who = !whoami\nprint(who)": MACHINE,
    "%%bash\ndate +%s": MACHINE,
    "import subprocess\nprint(subprocess.run(['id'], capture_output=True).stdout)": MACHINE,
    "import os\nif os.fork() == 0:\n    os._exit(0)\nprint('parent')": MACHINE,
    "x = []\nprint(id(x))": MACHINE,
}
REPEAT = [
    "import numpy as np\nrng = np.random.default_rng(7)\nprint(rng.normal(size=3).mean())",
    "import random\nrandom.seed(3)\nprint(random.random())",
    "import numpy as np\nprint(np.random.default_rng().normal())",  # the kernel seeds it
    "from datetime import datetime, date\nprint(datetime(2018, 6, 30) - datetime(2018, 1, 1), date(2018, 6, 30))",
    "import pandas as pd\nprint(pd.Timestamp('2018-06-30'), pd.to_datetime('2018-06-30'))",
    "import time\nstart = time.time()\nprint('share', 0.41)",  # nothing shown comes of it
    "from datetime import datetime\nprint(datetime.now().year, datetime.now().date())",
    "from datetime import datetime\nprint(datetime.now().strftime('%Y-%m-%d'))",
    "import time\nt = time.time()\nt = 4\nprint(t)",
    "import time\nt0 = time.time()\nprint(f'{time.time() - t0:.1f} s')",
    "from datetime import datetime\nprint((datetime.now() - datetime(2018, 1, 1)).days)",
    "!head -3 prices.csv",
    "%matplotlib inline\nprint('the date of the id is known')",
    "print('datetime.now() is not called here')  # nor time.time()",
    "date = '2018-06-30'\nid_ = 4\nprint(date, id_)",
    "this is no Python",
]


@pytest.mark.parametrize(("source", "shows"), VARY.items())
def test_what_differs_at_each_run_is_found(source: str, shows: str) -> None:
    found = RepeatableCells().look(source)
    assert found is not None and found[0] == shows and found[1]


@pytest.mark.parametrize("source", REPEAT)
def test_what_repeats_is_not(source: str) -> None:
    assert RepeatableCells().look(source) is None


def test_a_value_is_followed_over_cells() -> None:
    notebook = RepeatableCells()
    assert notebook.look("from datetime import datetime as when\nstart = when.now()") is None
    assert notebook.look("print('begun', start)") is not None
    assert notebook.look("start = 'long ago'\nprint(start)") is None


async def test_the_next_request_says_so_with_the_outputs() -> None:
    session = fake_session(printed("2018-06-30 00:00:01.52"), printed("0.41"))
    first = cells(("python", "from datetime import datetime\nprint(datetime.now())"))
    ask = ScriptedAsker(
        first, cells(("python", "print(0.41)")), "<TERMINATE_NOTEBOOK>", conclusion(0.41, "P1.2")
    )
    result = await NotebookGrounder().ground(leaf_task(ask, session))
    assert isinstance(result, Grounding)
    told = "The output of cell 1 will differ each time it is run, because it shows the time of the run"
    assert told in ask.calls[1].last_user and "Take the knowledge cutoff for today" in ask.calls[1].last_user
    assert "will differ each time" not in ask.calls[2].last_user, "the second cell repeats"


async def test_a_cell_that_shows_nothing_is_not_told_of() -> None:
    session = fake_session(printed(""))
    ask = ScriptedAsker(
        cells(("python", "import time\ntime.time()\nprint(end='')")),
        "<TERMINATE_NOTEBOOK>",
        conclusion(0.41, "P1.2"),
    )
    await NotebookGrounder().ground(leaf_task(ask, session))
    assert "will differ each time" not in ask.calls[1].last_user
