"""Prints what ClaudeSessions says about each of these options, or null if it accepts them."""

import json
import sys
from typing import Any

from claude_agent_sdk import ClaudeAgentOptions, HookMatcher

from wake_client.adapters.claude_agent import ClaudeSessions

TOOLS = ["Bash", "mcp__shop__refund"]
approvals: Any = None


def said(**options: Any) -> str | None:
    try:
        ClaudeSessions(approvals, ClaudeAgentOptions(**options), TOOLS)
    except ValueError as refusal:
        return str(refusal)
    return None


given = [
    *({"allowed_tools": [entry]} for entry in json.loads(sys.argv[1])),
    {"permission_mode": "acceptEdits"},
    {"permission_mode": "bypassPermissions"},
    {"extra_args": {"dangerously-skip-permissions": None}},
    {"hooks": {"PreToolUse": [HookMatcher()]}},
    {"permission_mode": "default", "hooks": {"Stop": [HookMatcher()]}},
]
sys.stdout.write(json.dumps([said(**options) for options in given]))
