"""A corpus of files that strangers made: for every kind that a command reads, texts that stop, fool or break a reader."""

import gzip
import random
import zlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

_DEEP = 60_000
_DIGITS = "9" * 6_000


def _bomb(levels: int = 9) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


#: Texts that no reader of ours should take, whatever it expects; 30 of them.
_ANY: dict[str, str | bytes] = {
    "empty": "",
    "nulls": b"\0" * 5_000,
    "no utf-8": b"\xff\xfe\xfa" * 300,
    "half a pair": b"\xed\xa0\x80" * 50,
    "a mark and nothing": b"\xef\xbb\xbf",
    "one line of 3 MB": "x" * 3_000_000,
    "a million lines": "\n" * 1_000_000,
    "half a gzip": gzip.compress(b"a,b\n1,2\n" * 1000)[:40],
    "gzip in gzip": gzip.compress(gzip.compress(b"x" * 100_000)),
    "raw deflate": zlib.compress(b"x" * 1000),
    "an elf": b"\x7fELF" + bytes(range(256)) * 20,
    "a zip's first bytes": b"PK\x03\x04" + b"\0" * 100,
    "a parquet's marks": b"PAR1" + b"\0" * 64 + b"PAR1",
    "a feather's marks": b"ARROW1\0\0" + b"\xff" * 200,
    "html": "<script>self.struck=1</script>" * 20,
    "escapes": "\x1b]0;owned\x07\x1b[2J" * 40,
    "turned": "\u202eabc\u2066" * 100,
    "deep lists": "[" * _DEEP,
    "deep lists, closed": "[" * _DEEP + "]" * _DEEP,
    "deep objects": '{"a":' * _DEEP,
    "a number of 6,000 digits": _DIGITS,
    "a float beyond all": "1e99999",
    "not a number": "NaN",
    "one key twice": '{"id": "a", "id": "b"}',
    "a list of nothing": "[" + ",".join(["null"] * 200_000) + "]",
    "a name over two lines, then one 200,000 times": '"a\nb",' + "c," * 199_999 + "c\n1,2\n",
    "200,000 names, the last twice": ",".join(f"c{i}" for i in range(200_000)) + ",c199999\n1\n",
    "yaml bomb": _bomb(),
    "yaml code": "!!python/object/apply:os.system ['true']",
    "toml dots": "a" + ".a" * 30_000 + " = 1",
    "half a quotation": 'a,b\n"' + "x\n" * 20_000,
}

#: What an honest file of each kind begins with, so that the reader goes further before it meets the rest.
_HEADS = {
    "yaml": "name: x\nexam: {events: e.csv}\narms: [market]\n",
    "toml": "[analyze]\n",
    "json": "",
    "csv": "event_id,id,title,statement,claim,date,value,node\n",
}
_TAILS: dict[str, dict[str, str]] = {
    "yaml": {
        "recursion": "seeds: &b [*b]\n",
        "deep": "seeds: " + "[" * 20_000 + "]" * 20_000 + "\n",
        "digits": f"trials: {_DIGITS}\n",
        "hexadecimal": "trials: 0x" + "f" * 6_000 + "\n",
        "base sixty": "trials: " + ":".join(["59"] * 50_000) + "\n",
        "a tag": "note: !!python/name:os.system\n",
        "two documents": "---\nname: y\n",
        "a key twice": "name: z\n",
        "a long key": f"? {'k' * 2_000}\n: 1\n",
        "merge": "m: &m {a: 1}\nn: {<<: *m}\n",
        "anchors": "\n".join(f"k{i}: &a{i} 1" for i in range(5_000)),
        "a path out": "questions: ../../../../etc/passwd\n",
    },
    "toml": {
        "deep": "a = " + "[" * 20_000 + "]" * 20_000 + "\n",
        "digits": f"trials = {_DIGITS}\n",
        "hexadecimal": "trials = 0x" + "f" * 6_000 + "\n",
        "tables": "\n".join(f"[t{i}]" for i in range(20_000)),
        "dots": "x" + ".y" * 20_000 + " = 1\n",
        "inline": "x = " + "{a=" * 5_000 + "1" + "}" * 5_000 + "\n",
    },
    "json": {
        "deep values": '{"nodes": ' + "[" * _DEEP + "]" * _DEEP + "}",
        "digits": f'{{"p": {_DIGITS}}}',
        "an infinite p": '{"nodes": [{"id": "P0", "statement": "x", "belief": {"p": 1e999}}]}',
        "a million nodes": '{"nodes": [' + ",".join(['{"id": "P0", "statement": "x"}'] * 30_000) + "]}",
        "a cycle": '{"nodes": [{"id": "P1", "parent": "P1.1", "statement": "x"}, {"id": "P1.1", "parent": "P1", "statement": "y"}]}',
        "a long id": '{"nodes": [{"id": "P' + "1." * 50_000 + '1", "statement": "x"}]}',
        "proto": '{"__proto__": {"a": 1}, "constructor": 2}',
        "no object": '"text"',
        "a title of 2 MB": '[{"id": "a", "title": "' + "t" * 2_000_000 + '"}]',
        "a date that is none": '[{"id": "a", "title": "b", "asked_on": "2018-02-31"}]',
    },
    "csv": {
        "other lengths": "a,b\n1,2,3,4,5,6,7,8,9\n",
        "many columns": ",".join(f"c{i}" for i in range(20_000)) + "\n",
        "a row of 200,000 cells": "1," * 199_999 + "1\n",
        "one cell of 3 MB": "a," * 7 + "x" * 3_000_000 + "\n",
        "formulas": "=cmd|' /C calc'!A0,=1+1,@SUM(1),+1,-1,x,y,z\n",
        "numbers that are none": "nan,inf,-inf,1e999,0x10,1_000,\u0661\u0662,z\n" * 50,
        "quotes": '"' * 10_001 + "\n",
        "carriage returns": "a\rb\rc\r" * 5_000,
    },
}


@cache
def gzip_bomb() -> bytes:
    """300 MB that take 300 KB; packed where it is asked for, since every test process imports this file."""
    return gzip.compress(b"{" + b" " * 300_000_000, 9, mtime=0)


def hostile_texts(kind: str) -> Iterator[tuple[str, bytes]]:
    """Yield (what it is, its bytes) for a kind of file: yaml, toml, json, csv or text."""
    yield "a gzip bomb", gzip_bomb()
    for name, text in _ANY.items():
        yield name, text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    for name, tail in _TAILS.get(kind, {}).items():
        yield f"{kind}: {name}", (_HEADS.get(kind, "") + tail).encode()
    draw = random.Random(kind)
    honest = (_HEADS.get(kind) or '{"nodes": [{"id": "P0", "statement": "x"}]}').encode()
    for number in range(24):  # an honest beginning with some bytes changed
        data = bytearray(honest * 3)
        for _ in range(draw.randrange(1, 12)):
            data[draw.randrange(len(data))] = draw.randrange(256)
        yield f"{kind}: changed {number}", bytes(data)


def special_files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield names that lead to no small regular file."""
    yield "a device without end", Path("/dev/zero")
    yield "a folder", folder
    yield "a file that is not there", folder / "none"
    yield "a name with a null", folder / "a\0b"
    yield "a very long name", folder / ("n" * 5_000)
    fifo = folder / "pipe"
    if not fifo.exists():
        import os

        os.mkfifo(fifo)
    yield "a pipe that nobody writes to", fifo
    loop = folder / "loop"
    if not loop.is_symlink():
        loop.symlink_to(loop)
    yield "a link to itself", loop
    large = folder / "large"
    if not large.exists():
        with open(large, "wb") as file:
            file.truncate(20_000_000_000)
    yield "20 GB of nothing", large
