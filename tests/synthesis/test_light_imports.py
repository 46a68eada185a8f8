import subprocess
import sys


def test_importing_the_rooms_loads_nothing_heavy() -> None:
    code = (
        "import sys, workbench.synthesis\n"
        "bad = {'numpy', 'scipy', 'pgmpy', 'problog', 'pydantic'} & set(sys.modules)\n"
        "sys.exit(','.join(bad) or 0)"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False).returncode
        == 0
    )
    pure = "import sys, workbench.propositions.growth\nsys.exit('workbench.synthesis' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", pure], check=False).returncode == 0
