"""Writes the text that `manage.py up` prints once the server answers: its address and, on the first
run, the first credentials."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from django.conf import settings

from accounts.management.first_run import Welcome

FIRST_DELIVERY = {
    "provider": "curl",
    "type": "question",
    "headline": "Which of these three titles do you like best?",
    "summary": "Choose one, or suggest another.",
    "details": {
        "wake_blocks": 1,
        "blocks": [
            {
                "type": "choice",
                "label": "Title",
                "options": [
                    {"id": "a", "label": "A quiet inbox"},
                    {"id": "b", "label": "Answers, not alerts"},
                    {"id": "c", "label": "Wake"},
                ],
            }
        ],
    },
}


def greeting(welcome: Welcome | None, *, is_password_given: bool) -> str:
    """Returns the text. Leaves out a password that the operator set, because the output of `up`
    ends up in logs."""
    lines = ["", f"Wake is at {settings.WAKE_ORIGIN}", ""]
    if welcome is None:
        return "\n".join([*lines, *_later_run(), ""])
    password = "the value of WAKE_ADMIN_PASSWORD" if is_password_given else welcome.password
    return "\n".join([*lines, *_first_run(welcome, password), ""])


def _first_run(welcome: Welcome, password: str) -> list[str]:
    return [
        "  Save these now, they are shown only once:",
        f"  Sign in         {welcome.email}",
        f"  Password        {password}",
        f"  Agent           {welcome.agent_id}",
        f"  Key             {welcome.key}",
        f"  Signing secret  {welcome.signing_secret}",
        "",
        "  Send your first delivery and see it in the inbox:",
        "",
        _curl(welcome),
        "",
        "  Ctrl-C stops everything.",
    ]


def _later_run() -> list[str]:
    """Returns commands that create a new key or password, because the first ones are shown only
    once."""
    command = f"{_python()} manage.py"
    return [
        f"  Create a key:          {command} issue_key AGENT_ID",
        f"  Change a password:     {command} changepassword EMAIL",
        "  Ctrl-C stops everything.",
    ]


def _curl(welcome: Welcome) -> str:
    body = json.dumps({"agent_id": welcome.agent_id, **FIRST_DELIVERY})
    return (
        f"curl {settings.WAKE_ORIGIN}/wake/v1/deliver \\\n"
        f"  -H 'Authorization: Bearer {welcome.key}' \\\n"
        f"  -H 'Content-Type: application/json' \\\n"
        f"  -d '{body}'"
    )


def _python() -> str:
    """Returns the command as a person would type it in the project's folder."""
    executable = Path(sys.executable)
    if executable.is_relative_to(settings.BASE_DIR):
        return str(executable.relative_to(settings.BASE_DIR))
    return str(executable)
