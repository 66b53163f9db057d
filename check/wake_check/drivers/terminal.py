"""Asks the tester, at the terminal, to answer a delivery in the server's own way."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, TextIO

from wake_check.drivers.wishes import CannotAnswer, serve


def ask(wish: dict[str, Any], *, keys: TextIO, screen: TextIO) -> None:
    """Returns when the tester says that it is done. Raises CannotAnswer with the tester's words."""
    lines = ["", f"Please answer this delivery: {wish['headline']}"]
    lines.append(f"  answer:   {wish['status']}")
    if wish.get("feedback"):
        lines.append(f"  message:  {wish['feedback']}")
    if wish.get("edited_content") is not None:
        lines.append(f"  edit:     {json.dumps(wish['edited_content'], ensure_ascii=False)}")
    lines.append("Press Enter when it is done. If it cannot be done, type why: ")
    screen.write("\n".join(lines))
    screen.flush()
    if words := keys.readline().strip():
        raise CannotAnswer(words)


def look(wish: dict[str, Any], *, keys: TextIO, screen: TextIO) -> bool:
    """Returns whether the tester sees the markup as text."""
    screen.write(
        f"\nPlease look at the delivery {wish['delivery_id']}. Does its page show this as text?\n"
        f"  {wish['markup']}\nPress Enter if it does. Otherwise type no: "
    )
    screen.flush()
    return not keys.readline().strip()


def main() -> int:
    # Standard input and output carry the wishes, so this opens the terminal itself.
    path = Path(os.ctermid())
    with path.open("r", encoding="utf-8") as keys, path.open("w", encoding="utf-8") as screen:
        return serve(
            lambda wish: ask(wish, keys=keys, screen=screen),
            lambda wish: look(wish, keys=keys, screen=screen),
        )


if __name__ == "__main__":
    sys.exit(main())
