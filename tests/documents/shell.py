"""Runs the blocks of a page one after another in one folder, as a reader's shell does."""

from __future__ import annotations

import subprocess
from pathlib import Path

PATIENCE_SECONDS = 120


class Shell:
    """Keeps what a block exports for the next block. `instead` maps words of the page to words of
    the test, such as the address of the server."""

    def __init__(
        self, folder: Path, environment: dict[str, str], *, instead: dict[str, str]
    ) -> None:
        self.folder, self.environment, self.instead = folder, environment, instead
        self.exported = folder / "exported.sh"
        self.exported.touch()

    def run(self, block: str) -> str:
        """Returns what the block prints, without its errors. Fails if a command fails."""
        for words, others in self.instead.items():
            block = block.replace(words, others)
        done = subprocess.run(
            ["/bin/bash", "-euc", f". ./exported.sh\n{block}\nexport -p > exported.sh"],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout
