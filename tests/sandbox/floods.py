"""Cells that flood their owner with messages, through ipykernel and past it."""

SHOW = "from IPython.display import display, update_display\n"

FLOODS = {
    "json": SHOW + "for i in range(20): display({'application/json': {'a': 'z' * 10_000_000}}, raw=True)",
    "metadata": SHOW
    + "for i in range(20): display({'text/plain': ''}, metadata={'a': 'z' * 10_000_000}, raw=True)",
    "small json": SHOW + "for i in range(400): display({'application/json': {'a': 'z' * 10_000}}, raw=True)",
    "errors": """
k = get_ipython().kernel
for i in range(200):
    k.session.send(k.iopub_socket, 'error', {'ename': 'x', 'evalue': 'y' * 100_000, 'traceback': []}, parent=k.get_parent())
""",
    "empty outputs": SHOW + "for i in range(5000): display({'text/plain': ''}, raw=True)",
    "empty updates": SHOW
    + "h = display({'text/plain': '0'}, raw=True, display_id='a')\n"
    + "for i in range(5000): update_display({'text/plain': str(i)}, metadata={'a': 'z' * 1000}, raw=True, display_id='a')",
}

#: Raw frames on the descriptor of the output channel, past everything that ipykernel does.
RAW = """
import os, socket, struct, time
def descriptor():
    for fd in map(int, os.listdir('/proc/self/fd')):
        try:
            s = socket.socket(fileno=os.dup(fd))
            if s.family == socket.AF_UNIX and str(s.getsockname()).endswith('-2'):
                s.getpeername()
                return fd
        except OSError:
            pass
fd = descriptor()
time.sleep(0.3)
os.set_blocking(fd, True)
end = time.time() + 2
while time.time() < end:
    for part in ({parts}):
        m = memoryview(part)
        while m: m = m[os.write(fd, m):]
"""
BIG = "bytes([{flags}]) + struct.pack('>Q', 8 << 20), bytes(8 << 20)"
RAW_FLOODS = {
    "endless multipart": (BIG.format(flags=3), "died"),
    "endless multipart of nothing": ("bytes([1, 0]) * 30_000,", "died"),
    "a frame without end": ("bytes([2]) + struct.pack('>Q', 1 << 62), bytes(8 << 20)", "died"),
    "no frames": ("bytes([0xaa]) * 1000,", "died"),
    "large messages": (BIG.format(flags=2), "ok"),
    "empty messages": ("bytes([0, 0]) * 30_000,", "ok"),
    "commands": ("bytes([4, 5]) + b'\\x04PING',", "ok"),
}
