"""Python source as a syntax tree, from any thread.

CPython before 3.11.8 and 3.12.2 keeps the depth of what it parses in one place for all threads. Where another thread parses in between
(an import that reads signatures will do), both are right and one ends in a ``SystemError``; parsing is pure, so it is done again.
"""

import ast

#: The other thread is done at the second try; five are for a process full of imports.
_TRIES = 5


def syntax_tree(source: str) -> ast.Module:
    """Return the tree of a module's source.

    Raises
    ------
    SyntaxError, ValueError, RecursionError, MemoryError
        It is no Python, holds a null byte, or is nested too deeply.
    """
    for _ in range(_TRIES - 1):
        try:
            return ast.parse(source)
        except SystemError:  # python/cpython, issue 106905
            continue
    return ast.parse(source)
