"""Start everything that runs in the sandbox: ``launch.py --zygote CONTROL_FD MANAGER_PIDFD``.

Jupyter's own start of a kernel (``launch.py -f FILE``) is answered with one line: the seal is made by the kernel
provisioner ``analyst-sandbox``, and a kernel without it would be an open one.
"""

import json
import os
import socket
import sys

MAX_PACKET = 192 << 10


def main(arguments: list[str]) -> int:
    """Run the fork server, or explain why not."""
    if len(arguments) != 3 or arguments[0] != "--zygote":
        print(
            "the Analyst kernel is started by the kernel provisioner 'analyst-sandbox' only: "
            "install analyst-workbench where your Jupyter runs",
            file=sys.stderr,
        )
        return 2
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    import zygote

    control = socket.socket(fileno=int(arguments[1]))
    view = json.loads(control.recv(MAX_PACKET))
    zygote.guard(control, int(arguments[2]), view)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
