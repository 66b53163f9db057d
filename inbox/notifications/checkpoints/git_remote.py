"""Pushes one commit for each checkpoint to a git remote, with the `git` program."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from datetime import datetime
from pathlib import Path

from django.conf import settings

from accounts.log.checkpoints.checkpoints import cosigned_note
from accounts.models import CheckpointSending
from inbox.notifications.checkpoints.requests import NotSent

FILE = "checkpoint"  # the newest checkpoint; the commits have the earlier ones
BRANCH = "main"  # for a remote without commits
SECONDS = 25.0  # for all commands together, so that the job stays below its limit
AUTHOR = ("-c", "user.name=Wake", "-c", "user.email=wake@localhost", "-c", "commit.gpgSign=false")
# A worker has no terminal to ask for a password. Variables that the operator has set take
# precedence.
ENVIRONMENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_SSH_COMMAND": "ssh -o BatchMode=yes -o ConnectTimeout=10",
}


def send(sending: CheckpointSending, *, at: datetime) -> str:
    """Returns the id of the commit. Raises NotSent."""
    ends_at = time.monotonic() + SECONDS
    checkpoint = sending.checkpoint
    with tempfile.TemporaryDirectory(prefix="wake-checkpoint-") as name:
        folder = Path(name)
        start = ("-c", f"init.defaultBranch={BRANCH}", "clone", "--quiet", "--depth=1", "--")
        _git(folder, *start, settings.WAKE_CHECKPOINT_GIT, ".", ends_at=ends_at)
        (folder / FILE).write_text(cosigned_note(checkpoint), encoding="utf-8")
        _git(folder, "add", FILE, ends_at=ends_at)
        # The file is unchanged if an earlier attempt arrived although it was reported as failed.
        if _git(folder, "status", "--porcelain", ends_at=ends_at):
            message = f"Checkpoint of {checkpoint.size} entries"
            _git(folder, *AUTHOR, "commit", "--quiet", "-m", message, ends_at=ends_at)
            _git(folder, "push", "--quiet", "origin", "HEAD", ends_at=ends_at)
        return _git(folder, "rev-parse", "HEAD", ends_at=ends_at)


def _git(folder: Path, *arguments: str, ends_at: float) -> str:
    """Runs one command, and returns its output. Raises NotSent."""
    try:
        done = subprocess.run(  # noqa: S603 - the arguments are ours and the operator's
            ["git", *arguments],  # noqa: S607 - the operator's own git, wherever it is
            cwd=folder,
            env=ENVIRONMENT | os.environ,
            capture_output=True,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            timeout=max(0.1, ends_at - time.monotonic()),
            check=False,
        )
    except FileNotFoundError as error:
        raise NotSent("The program git is not installed.") from error
    except subprocess.TimeoutExpired as error:
        raise NotSent("The git remote timed out.") from error
    if done.returncode:
        words = done.stderr.strip().splitlines() or ["no reason"]
        raise NotSent(f"git failed: {words[-1]}")
    return done.stdout.strip()
