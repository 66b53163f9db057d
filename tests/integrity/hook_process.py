"""Runs the hook of `wake run` as Claude Code does: in its shell, with a call on stdin."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from tests.client.connector.relay import CLIENT

CALL: dict[str, Any] = {
    "hook_event_name": "PreToolUse",
    "session_id": "abc123",
    "cwd": "/srv/shop",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_use_id": "toolu_01abc",
    "tool_input": {"command": "npm publish"},
}


def command(home: Path, *words: str) -> list[str]:
    hook = [sys.executable, "-m", "wake_client", "hook", "--for", "claude-code"]
    return [*hook, "--deferring", str(deferred_file(home)), *words]


def deferred_file(home: Path) -> Path:
    return home / "state" / "deferred.json"


def environment(home: Path, endpoint: str, key: str) -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(CLIENT),
        "HOME": str(home),
        "WAKE_ENDPOINT": endpoint,
        "WAKE_API_KEY": key,
        "WAKE_AGENT_ID": "research-agent-01",
    }


def decision(done: subprocess.CompletedProcess[str]) -> dict[str, str]:
    """Returns what Claude Code reads. A status of 2 blocks the call. An empty output leaves the
    decision to Claude Code."""
    if done.returncode == 2:
        return {"permissionDecision": "deny", "permissionDecisionReason": done.stderr}
    if not done.stdout:
        return {}
    specific: dict[str, str] = json.loads(done.stdout)["hookSpecificOutput"]
    return specific


def run_hook(
    home: Path, endpoint: str, key: str, *words: str, given: Any = CALL, **options: Any
) -> dict[str, str]:
    done = subprocess.run(
        command(home, *words),
        input=given if isinstance(given, str) else json.dumps(given),
        env=environment(home, endpoint, key),
        cwd=home,
        text=True,
        capture_output=True,
        check=False,
        timeout=90,
        **options,
    )
    return decision(done)


@contextmanager
def answering(*answers: tuple[int, str, str]) -> Iterator[str]:
    """Serves these answers in turn, and then repeats the last one. Each answer is a status, a media
    type and a body. Yields the origin."""
    left = list(answers)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path.rstrip("/") == "/wake/v1":  # the server has no claims
                self.send(200, "application/json", '{"extensions": []}')
            else:
                self.do_POST()

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send(*(left.pop(0) if len(left) > 1 else left[0]))

        def send(self, status: int, media_type: str, body: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", media_type)
            self.send_header("Content-Length", str(len(body.encode())))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
