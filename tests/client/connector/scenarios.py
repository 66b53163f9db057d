"""Runs coroutines as tests, and looks at the processes that the tests leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

Scenario = Callable[[Path], Coroutine[Any, Any, None]]


def scenario(test: Scenario) -> Callable[[Path], None]:
    """Turns a coroutine into a test, and passes it the path of a journal."""

    @wraps(test)
    def run(tmp_path: Path) -> None:
        asyncio.run(test(tmp_path / "journal"))

    run.__annotations__ = {"tmp_path": Path}
    del run.__dict__["__wrapped__"]  # without this, pytest asks for the arguments of the coroutine
    return run


def sh(script: str) -> tuple[str, ...]:
    return ("sh", "-c", script)


async def pid_in(path: Path) -> int:
    async with asyncio.timeout(10):
        while not (path.exists() and path.read_text().strip()):
            await asyncio.sleep(0.02)
    return int(path.read_text())


async def is_gone(pid: int) -> bool:
    """Says whether the process is gone. Looks again for a while, because the process is not our
    child, so this process cannot wait for its end."""
    for _ in range(100):
        try:
            status = Path(f"/proc/{pid}/stat").read_text()
        except FileNotFoundError:
            return True
        if status.rpartition(")")[2].split()[0] == "Z":
            return True
        await asyncio.sleep(0.02)
    return False
