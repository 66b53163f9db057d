"""Runs the commands of a document in a shell, against a server of `manage.py up`."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.wake.server.up import ROOT, Up, eventually, printed

# A program of a document ends soon after its answer.
PATIENCE_SECONDS = 120
DOCUMENTED_ORIGINS = ("http://127.0.0.1:8000", "https://wake.example.com")
# These programs are not the subject of the documents. The clients of MCP write down how they were
# called.
NOTE_THE_CALL = 'printf "%s\\n" "$@" >> "$HOME/called"'
STAND_INS = {
    **dict.fromkeys(["pip", "paint"], "exit 0"),
    **dict.fromkeys(["claude", "codex", "gemini"], NOTE_THE_CALL),
}


class Program(subprocess.Popen[str]):
    """Is killed when its test fails, because the test would wait for its end."""

    def __exit__(self, *failure: Any) -> None:
        if failure[0] is not None:
            self.kill()
        super().__exit__(*failure)


class Terminal:
    """Holds a folder in which commands run. `wake` is the client of this checkout."""

    def __init__(self, up: Up, folder: Path) -> None:
        self.up, self.folder = up, folder
        self.key = printed("Key", up.output)
        programs = folder / "programs"
        programs.mkdir()
        python = shlex.quote(sys.executable)
        ours = {
            "python3": f'exec {python} "$@"',
            "manage.py": f'exec {python} {ROOT / "manage.py"} "$@"',
            "wake": f'exec {python} -m wake_client "$@"',
        }
        for name, line in {**STAND_INS, **ours}.items():
            (programs / name).write_text(f"#!/bin/sh\n{line}\n")
            (programs / name).chmod(0o755)
        (folder / "paint").symlink_to(programs / "paint")
        self.environment = {
            **up.environment,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT / "client"),
            "WAKE_ENDPOINT": up.url,
            "WAKE_API_KEY": self.key,
            "WAKE_AGENT_ID": printed("Agent", up.output),
        }
        self.earlier = self._waiting()

    def run(self, script: str, **environment: str) -> str:
        """Returns what the script prints. Fails if a command fails."""
        process = self.start(script, **environment)
        output, errors = process.communicate(timeout=PATIENCE_SECONDS)
        assert process.returncode == 0, output + errors
        return output

    def json(self, script: str, **environment: str) -> Any:
        return json.loads(self.run(script, **environment))

    def python(self, program: str) -> Program:
        (self.folder / "program.py").write_text(self._here(program))
        return self.start("exec python3 program.py")

    def start(self, script: str, **environment: str) -> Program:
        return Program(
            ["/bin/bash", "-euc", self._here(script)],
            cwd=self.folder,
            env={**self.environment, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @contextmanager
    def in_background(self, script: str, **environment: str) -> Iterator[None]:
        with self.start(f"exec 2>&1; {script}", **environment) as process:
            yield
            os.killpg(process.pid, 15)
            process.communicate()

    def newest_delivery(self) -> str:
        """Waits for a delivery that waits for an answer and is not of an earlier test. Returns its
        id."""
        return str(eventually(lambda: next(iter(self._waiting() - self.earlier), "")))

    def _waiting(self) -> set[str]:
        query = '"$WAKE_ENDPOINT/wake/v1/responses?status=pending&limit=200"'
        answer = self.json(f'curl -s {query} -H "Authorization: Bearer $WAKE_API_KEY"')
        return {row["delivery_id"] for row in answer["deliveries"] if not row["expired"]}

    def _here(self, text: str) -> str:
        """Replaces what the documents write for any server by this one."""
        for origin in DOCUMENTED_ORIGINS:
            text = text.replace(origin, self.up.url)
        return text.replace(".venv/bin/python manage.py", "manage.py")
