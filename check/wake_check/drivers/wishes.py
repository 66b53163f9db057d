"""Reads wishes on standard input, and writes one line for each on standard output."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any


class CannotAnswer(Exception):
    """The person could not answer. The message is the reason."""


def serve(answer: Callable[[dict[str, Any]], None], look: Callable[[dict[str, Any]], bool]) -> int:
    """Calls `answer` or `look` with each wish, until standard input ends. `look` returns whether
    the page shows the markup as text."""
    for line in sys.stdin:
        try:
            wish = json.loads(line)
            reply: dict[str, Any] = {"done": True}
            if wish.get("wish") == "answer":
                answer(wish)
            elif wish.get("wish") == "look":
                reply["is_text"] = look(wish)
            else:
                reply = {"done": False, "reason": f"Unknown wish: {wish.get('wish')}"}
        except CannotAnswer as reason:
            reply = {"done": False, "reason": str(reason)}
        sys.stdout.write(json.dumps(reply) + "\n")
        sys.stdout.flush()
    return 0
