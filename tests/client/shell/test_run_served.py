"""`wake run` with a real server and its own hook: defer, answer, resume.

Claude Code cannot run here. A program stands in for Claude Code. This program runs the hook of its
settings before and after its one call, and follows each decision as the reference describes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from accounts.models import ApiKey
from tests.client.connector.relay import CLIENT
from tests.types import Answer
from tests.wake.server.up import eventually
from wake.models import Claim, Delivery, Outcome

pytestmark = pytest.mark.system
CLAUDE = """
import json, subprocess, sys
words = sys.argv[1:]
settings = json.loads(words[words.index("--settings") + 1])
(entry,) = settings["hooks"]["PreToolUse"]
(after,) = settings["hooks"]["PostToolUse"]
call = {"id": "toolu_01abc", "name": "Bash", "input": {"command": "npm publish"}}
given = {
    "hook_event_name": "PreToolUse", "session_id": "abc123", "cwd": "/srv/shop",
    "tool_name": call["name"], "tool_input": call["input"], "tool_use_id": call["id"],
}
hook = subprocess.run(entry["hooks"][0]["command"], shell=True, input=json.dumps(given),
                      capture_output=True, text=True, check=True)
decision = json.loads(hook.stdout)["hookSpecificOutput"] if hook.stdout else {}
result = {"type": "result", "session_id": "abc123"}
match decision.get("permissionDecision"):
    case "defer":
        result |= {"stop_reason": "tool_deferred", "deferred_tool_use": call}
    case "allow":
        command = decision.get("updatedInput", call["input"])["command"]
        given |= {"hook_event_name": "PostToolUse", "tool_input": {"command": command},
                  "tool_response": {"stdout": "", "stderr": "", "interrupted": False}}
        subprocess.run(after["hooks"][0]["command"], shell=True, input=json.dumps(given),
                       text=True, check=True)
        result |= {"stop_reason": "end_turn", "result": f"ran {command}"}
    case "deny":
        result |= {"stop_reason": "end_turn", "result": decision["permissionDecisionReason"]}
    case _:
        result |= {"stop_reason": "end_turn", "result": "no permission"}
print(json.dumps(result))
"""


def run(home: Path, origin: str, key: str) -> subprocess.Popen[str]:
    program = home / "claude"
    program.write_text(f"#!{sys.executable}\n{CLAUDE}")
    program.chmod(0o755)
    command = [sys.executable, "-m", "wake_client", "run", "--", str(program), "-p", "Publish it"]
    variables = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(CLIENT),
        "HOME": str(home),
        "WAKE_ENDPOINT": origin,
        "WAKE_API_KEY": key,
        "WAKE_AGENT_ID": "research-agent-01",
    }
    return subprocess.Popen(
        command, env=variables, cwd=home, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


@pytest.mark.parametrize(
    ("status", "more", "result"),
    [
        ("approved", {}, "ran npm publish"),
        ("rejected", {"feedback": "Not on a Friday."}, "Not on a Friday."),
        ("redirected", {"edited_json": '{"command": "npm pack"}'}, "ran npm pack"),
    ],
)
def test_a_session_ends_at_a_question_and_goes_on_with_the_answer(
    status: str,
    more: dict[str, Any],
    result: str,
    live_server: LiveServer,
    key: ApiKey,
    answer: Answer,
    tmp_path: Path,
) -> None:
    program = run(tmp_path, live_server.url, key.text)  # type: ignore[attr-defined]
    deferred = tmp_path / ".local" / "state" / "wake" / "deferred.json"
    eventually(deferred.exists)
    delivery: Delivery = eventually(Delivery.objects.first)

    answer(delivery, status, **more)
    printed, errors = program.communicate(timeout=90)

    assert (program.returncode, printed) == (0, f"{result}\n"), errors
    assert delivery.headline == "Run `npm publish` in shop?"
    (entry,) = json.loads(deferred.read_text()).values()
    assert entry["delivery_id"] == str(delivery.pk)
    assert Delivery.objects.count() == 1
    is_allowed = status != "rejected"
    assert Claim.objects.filter(response__delivery=delivery).exists() == is_allowed
    outcomes = Outcome.objects.filter(delivery=delivery).values_list("status", flat=True)
    assert list(outcomes) == (["done"] if is_allowed else [])
