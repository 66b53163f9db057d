"""`wake acp` passes every line on, byte for byte, and ends as the agent does."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.client.acp.desk import ALLOW, REJECT, TOOL_CALL
from tests.client.connector.relay import CLIENT
from tests.client.test_sdk import KEY

pytestmark = pytest.mark.slow
# Writes back each line as it came, and says on stderr when its input ends.
ECHO = """
import sys
for line in sys.stdin.buffer:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()
sys.stderr.write("no more input")
sys.exit(7)
"""
NESTED = json.loads("[" * 400 + "]" * 400)
DEEP = json.dumps(
    {
        "id": 3,
        "method": "session/request_permission",
        "params": {
            "sessionId": "s",
            "toolCall": {**TOOL_CALL, "rawInput": NESTED},
            "options": [ALLOW, REJECT],
        },
    }
)
LINES = [
    b'{"jsonrpc": "2.0",  "id": 1, "method": "x", "params": {"\\u00e9": "\xc3\xa9"}}\r\n',
    b"\n",
    b"  \n",
    b"no JSON\n",
    b'["a", {}]\n',
    b"\xff\xfe\n",
    b'{"id": 1, "id": 2}\n',
    b'{"jsonrpc":"2.0","id":9,"result":' + b"[" * 20_000 + b"]" * 20_000 + b"}\n",
    b'{"text": "' + b"x" * 300_000 + b'"}\n',
    b'{"method": "session/request_permission"}\n',
    b'{"method": "session/update", "params": {"sessionId": "a", "update": null}}\n',
    b'{"method": "session/cancel", "params": null}\n',
    b'{"id": null, "result": {}}\n',
    b'{"id": 1, "method": ["session/prompt"]}\n',
    b'{"method": "session/update", "params": {"sessionId": "a", "update":'
    b' {"sessionUpdate": "tool_call", "toolCallId": "x", "status": {}}}}\n',
    DEEP.encode() + b"\n",
    b'{"the last line": "has no line feed"}',
]


def start(
    agent: str, home: Path, *words: str, endpoint: str = "http://127.0.0.1:9"
) -> subprocess.Popen[bytes]:
    """Starts the proxy with a server that is away."""
    command = [
        sys.executable,
        "-m",
        "wake_client",
        "acp",
        *words,
        "--",
        sys.executable,
        "-c",
        agent,
    ]
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(CLIENT),
        "HOME": str(home),
        "WAKE_ENDPOINT": endpoint,
        "WAKE_API_KEY": KEY,
        "WAKE_AGENT_ID": "coder",
    }
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=variables, stdin=pipe, stdout=pipe, stderr=pipe)


def test_every_line_passes_in_both_directions_as_it_came(tmp_path: Path) -> None:
    proxy = start(ECHO, tmp_path)

    printed, errors = proxy.communicate(b"".join(LINES), timeout=60)

    assert printed == b"".join(LINES)
    assert b"no more input" in errors
    assert b"Traceback" not in errors, errors.decode()
    assert proxy.returncode == 7


def test_a_slow_editor_gets_the_last_lines_of_the_agent(tmp_path: Path) -> None:
    proxy = start("print('x' * 120_000 + 'end17')", tmp_path)

    with pytest.raises(subprocess.TimeoutExpired):  # it does not end before the editor has read
        proxy.wait(3)
    printed, _ = proxy.communicate(timeout=60)

    assert printed == b"x" * 120_000 + b"end17\n"


def test_the_editor_asks_as_always_while_wake_is_away(tmp_path: Path) -> None:
    proxy = start(ECHO, tmp_path)
    assert proxy.stdin
    assert proxy.stdout
    params = {"sessionId": "s", "toolCall": TOOL_CALL, "options": [ALLOW, REJECT]}
    request = {"jsonrpc": "2.0", "id": 1, "method": "session/request_permission", "params": params}
    response: Any = {"jsonrpc": "2.0", "id": 1}
    response["result"] = {"outcome": {"outcome": "selected", "optionId": "yes"}}

    for message in (request, response):  # the agent writes back what it reads
        line = json.dumps(message).encode() + b"\n"
        proxy.stdin.write(line)
        proxy.stdin.flush()
        assert proxy.stdout.readline() == line
    printed, errors = proxy.communicate(timeout=60)

    assert (printed, proxy.returncode) == (b"", 7)
    assert b"Traceback" not in errors, errors.decode()


def test_a_signal_reaches_the_agent(tmp_path: Path) -> None:
    proxy = start("import time; print('started', flush=True); time.sleep(600)", tmp_path)
    assert proxy.stdout
    assert proxy.stdout.readline() == b"started\n"

    proxy.send_signal(signal.SIGTERM)
    proxy.communicate(timeout=60)

    assert proxy.returncode == 128 + signal.SIGTERM


def test_an_agent_ends_when_the_editor_has_gone(tmp_path: Path) -> None:
    agent = "while True: print('x' * 10_000, flush=True)"
    proxy = start(agent, tmp_path)
    assert proxy.stdout
    proxy.stdout.readline()

    proxy.stdout.close()
    proxy.stdout = None
    _, errors = proxy.communicate(timeout=60)

    assert proxy.returncode == 128 + signal.SIGTERM
    assert b"Traceback" not in errors, errors.decode()


def test_an_agent_may_leave_a_process_behind(tmp_path: Path) -> None:
    agent = """
import subprocess, sys
left = [sys.executable, "-c", "import time; time.sleep(600)"]
print(subprocess.Popen(left, stderr=subprocess.DEVNULL).pid)
"""
    proxy = start(agent, tmp_path)

    assert proxy.stdout
    left = int(proxy.stdout.readline())
    try:
        proxy.communicate(timeout=60)
        os.kill(left, 0)  # it still runs
    finally:
        os.kill(left, signal.SIGKILL)

    assert proxy.returncode == 0


@pytest.mark.parametrize(
    ("words", "variables", "said"),
    [
        ([], {}, "wake acp: There is no agent to start. Put it after two dashes"),
        (["--", "no-such-agent"], {}, "wake acp: There is no command no-such-agent."),
        (["--", "cat"], {}, "wake acp: The server's address is needed"),
        (["--", "cat"], {"WAKE_ENDPOINT": "https://w.example"}, "wake acp: "),
        (["--deadline", "5", "--", "cat"], {}, "usage: wake acp"),
    ],
)
def test_a_wrong_command_line_says_the_next_step(
    words: list[str], variables: dict[str, str], said: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wake_client", "acp", *words],
        env={
            "PATH": os.environ["PATH"],
            "PYTHONPATH": str(CLIENT),
            "HOME": "/nowhere",
            **variables,
        },
        stdin=subprocess.PIPE,
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)


def test_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    with Path(os.devnull).open("rb") as nothing, (tmp_path / "out").open("wb") as out:
        done = subprocess.run(
            [sys.executable, "-m", "wake_client", "acp", "--", "cat"],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(CLIENT),
                "WAKE_ENDPOINT": "https://w.example",
                "WAKE_API_KEY": KEY,
            },
            stdin=nothing,
            stdout=out,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert done.returncode == 2
    assert "An editor starts this command" in done.stderr
