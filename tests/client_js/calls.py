"""Makes calls of the JavaScript client from Python, one JSON line a call."""

from __future__ import annotations

import json
import subprocess
from typing import Any


class Refused(Exception):
    """The call threw an error of this name and code."""

    def __init__(self, name: str, code: str | None, message: str) -> None:
        super().__init__(f"{name}: {message}")
        self.name = name
        self.code = code


class Calls:
    """Sends calls to a program, and reads their results."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def call(self, name: str, *arguments: Any) -> Any:
        """Returns the result of a call. Raises Refused if the call threw."""
        self.send(name, *arguments)
        return self.result()

    def send(self, name: str, *arguments: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"name": name, "arguments": arguments}) + "\n")
        self.process.stdin.flush()

    def result(self) -> Any:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "The program ended without a result."
        result = json.loads(line)
        if "error" in result:
            raise Refused(**result["error"])
        return result.get("value")
