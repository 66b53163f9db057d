"""Gives a page one piece of memory for its deep calls.

CPython keeps the frames of Python functions in chunks of 16 kB. A call that crosses the end of a
chunk allocates the next one, and its return frees it again, with a system call each. Templates call
deeply and return often: where such an end lay between a row and its texts, a list page spent a
third of its CPU time on it
(docs/decisions/0047-a-page-has-one-piece-of-stack.md).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

# CPython adds 1,000 to the slots of a frame, and doubles 16 kB until they fit: this frame has a
# chunk of 64 kB, and leaves 39 kB of it to those that it calls.
SLOTS = 3_100


def _frame_of(slots: int) -> Callable[[Callable[[], Any]], Any]:
    """Returns a function that calls another one, and whose frame has so many local variables."""
    variables = ", ".join(f"unused_{number}" for number in range(slots))
    lines = [
        "def call(function):",
        f"    if function is None: [{variables}] = []",
        "    return function()",
    ]
    names: dict[str, Any] = {}
    exec("\n".join(lines), names)  # noqa: S102 - our own text
    function: Callable[[Callable[[], Any]], Any] = names["call"]
    return function


_call = _frame_of(SLOTS)


def with_room(function: Callable[[], T]) -> T:
    """Calls the function, with room for deep calls in the chunk of this frame."""
    result: T = _call(function)
    return result
