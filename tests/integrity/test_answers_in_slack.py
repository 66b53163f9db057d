"""A message in Slack has buttons only if it prints everything that there is to approve."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from accounts.models import AuditEvent
from inbox.models import Channel
from inbox.notifications.channels.kinds.slack_app import answer_buttons
from inbox.notifications.channels.kinds.slack_webhook import LONGEST_TEXT
from inbox.notifications.slack import presses
from tests.inbox.notifications.slack.conftest import (
    Slack,
    ids_of,
    update,
    words_of,
)
from tests.inbox.notifications.slack.conftest import linked as linked
from tests.inbox.notifications.slack.conftest import notify_bob as notify_bob
from tests.inbox.notifications.slack.conftest import slack as slack
from wake.models import Delivery, Response
from wake_client.hook.calls import Call
from wake_client.hook.questions import question

SUMMARY = "All tests pass. Nobody is on call after six, so it would be before six."
MORE: dict[str, dict[str, Any]] = {
    "details": {"details_json": json.dumps("x" * 50_000)},
    "assumption": {"timeout_seconds": 6_000, "assumption": "I delete everything."},
    "callback": {"callback_webhook": "https://hooks.example.com/x"},
    "other fields": {"extensions": {"command": "rm -rf /"}},
    "irreversible": {"irreversible": True},
}


@pytest.fixture(autouse=True)
def _allowed(allowed_host: str) -> None:
    """Lets callbacks go to hooks.example.com."""


def pressed(delivery: Delivery, channel: Channel, shown: str) -> Any:
    """Returns a message with a button that approves, as Wake made it."""
    value = "|".join([str(channel.pk), str(delivery.pk), delivery.content_hash, *shown.split()])
    elements = [{"action_id": "approved", "value": value}]
    return {"blocks": [{"type": "actions", "elements": elements}]}


def test_a_message_with_buttons_prints_headline_and_summary_whole(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    headline = f"Ship 2.4? {'h' * 100}\u202e"[:120]
    delivery = notify_bob(headline=headline, summary=SUMMARY)

    message = slack.last
    words = words_of(message)
    slack.press("approved")

    assert ids_of(message) == ["approved", "rejected", "open"]
    assert "⟨U+202E⟩" in words
    assert SUMMARY in words
    assert message["blocks"][0]["expand"] is True
    response = Response.objects.get(delivery=delivery)
    assert (response.place, response.all_in_sight) == ("slack", True)
    detail = AuditEvent.objects.get(event="delivery.answered").detail
    assert detail["shown"] == ["headline", "summary"]
    assert detail["message_hash"] == hashlib.sha256(words.encode()).hexdigest()
    assert detail["content_hash"] == delivery.content_hash


@pytest.mark.parametrize("name", MORE)
def test_a_delivery_with_more_to_read_opens_wake(
    slack: Slack, notify_bob: Callable[..., Delivery], linked: Channel, name: str
) -> None:
    delivery = notify_bob(**MORE[name])
    assert ids_of(slack.last) == ["open"]

    slack.press("approved", of=pressed(delivery, linked, "0" * 64))

    assert not Response.objects.exists()
    update()
    assert "Open it in Wake to answer." in words_of(slack.last)


def test_a_text_that_slack_would_not_take_whole_has_no_buttons(
    slack: Slack, notify_bob: Callable[..., Delivery], linked: Channel
) -> None:
    delivery = notify_bob()

    assert answer_buttons(linked, delivery, "x" * LONGEST_TEXT)
    assert not answer_buttons(linked, delivery, "x" * (LONGEST_TEXT + 1))


def test_a_message_of_an_earlier_version_approves_nothing(
    slack: Slack, notify_bob: Callable[..., Delivery], linked: Channel
) -> None:
    """Messages of earlier versions did not print the summary."""
    delivery = notify_bob(summary=SUMMARY)

    slack.press("approved", of=pressed(delivery, linked, ""))

    assert not Response.objects.exists()
    update()
    assert presses.OPEN in words_of(slack.last)


def test_after_an_undo_the_message_prints_everything_again(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob(summary=SUMMARY)
    slack.press("rejected")
    update()
    assert SUMMARY not in words_of(slack.last)

    slack.press("undo")
    update()

    assert ids_of(slack.last) == ["approved", "rejected", "open"]
    assert SUMMARY in words_of(slack.last)
    slack.press("approved")
    assert Response.objects.get().all_in_sight is True


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("Bash", {"command": "ls"}),
        ("Bash", {"command": f"ls {'x' * 200}; rm -rf /"}),
        ("Write", {"file_path": "/a/b.txt", "content": "c"}),
        ("mcp__bank__pay", {"amount": 90_000}),
        ("ExitPlanMode", {"plan": "Delete everything."}),
    ],
)
def test_no_question_of_the_hook_is_answered_in_slack(
    slack: Slack, notify_bob: Callable[..., Delivery], tool: str, arguments: dict[str, Any]
) -> None:
    call = Call("claude-code", "PermissionRequest", "s", "/home/me/shop", tool, arguments)
    asked = question(call)

    notify_bob(
        headline=asked.headline,
        summary=asked.summary,
        details_json=json.dumps(asked.details),
    )

    assert ids_of(slack.last) == ["open"]
