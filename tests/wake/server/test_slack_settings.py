"""Answering in Slack is set up with all of its settings, or not at all."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import checks

pytestmark = pytest.mark.once


@pytest.mark.parametrize(
    ("secret", "token", "workspace", "missing"),
    [
        ("", "", "", None),
        ("s", "t", "T1", None),
        ("s", "t", "", "WAKE_SLACK_WORKSPACE"),
        ("", "t", "T1", "WAKE_SLACK_SIGNING_SECRET"),
        ("s", "", "", "WAKE_SLACK_BOT_TOKEN and WAKE_SLACK_WORKSPACE"),
    ],
)
def test_a_part_of_the_settings_is_refused(
    secret: str, token: str, workspace: str, missing: str | None, settings: Any
) -> None:
    settings.WAKE_SLACK_SIGNING_SECRET = secret
    settings.WAKE_SLACK_BOT_TOKEN = token
    settings.WAKE_SLACK_WORKSPACE = workspace

    found = [one.msg for one in checks.run_checks() if one.id == "wake.E010"]

    assert found == ([f"Answering in Slack also needs {missing}."] if missing else [])
