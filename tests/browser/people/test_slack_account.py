"""A person links their Slack account, on pages that are accessible and fit a phone."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import User
from inbox.models import Channel
from tests.browser.screen import Open
from tests.inbox.notifications.slack.conftest import (
    MEMBER,
    Slack,
    answering,
    connect,
)
from tests.wake.callbacks.receiver import Receiver

OK, UNKNOWN = '{"ok":true}', '{"ok":false,"error":"user_not_found"}'


@pytest.fixture
def workspace(start_receiver: Callable[..., Receiver], settings: Any) -> Slack:
    return connect(start_receiver, settings)


@pytest.mark.parametrize("scripts", [True, False], ids=["scripts", "no scripts"])
def test_linking_a_slack_account(
    open_browser: Open, alice: User, workspace: Slack, scripts: bool
) -> None:
    screen = open_browser(alice, width=390, scripts=scripts)
    look = screen.problems if scripts else list
    workspace.api.behaviours += [answering(UNKNOWN), answering(OK)]
    page = screen.go("/settings/notifications/")
    assert look() == []

    screen.follow("Slack with buttons")
    assert look() == []
    page.get_by_label("Member ID").fill(MEMBER)
    screen.press("Add channel")
    expect(page.locator("main")).to_contain_text("Slack refused the message")
    expect(page.locator("main")).to_contain_text("If the address is wrong, remove the channel")
    assert look() == []

    screen.press("Send a new code")
    page.get_by_label("Code").fill("1")
    screen.press("Verify")
    assert look() == []

    (code,) = re.findall(r"\d{6}", workspace.last["text"])
    page.get_by_label("Code").fill(code)
    screen.press("Verify")
    expect(page.locator("main")).to_contain_text("Verified.")
    assert Channel.objects.get().verified_at is not None
    assert look() == []
