"""The environment says where mail goes, and mail arrives there."""

from __future__ import annotations

import json
import os
import socketserver
import subprocess
import sys
from typing import Any

import pytest

from accounts.models import User
from inbox.models import Preferences
from inbox.notifications import digests
from tests.fixtures.letters import Letterbox
from tests.inbox.notifications.times import utc

NINE = utc("2026-11-02 09:00")
SHOW = """
import json
from wake import settings as s
print(json.dumps([s.EMAIL_BACKEND.split(".")[-2], s.EMAIL_PORT, s.EMAIL_USE_TLS, s.EMAIL_USE_SSL,
                  s.WAKE_SENDS_MAIL, s.DEFAULT_FROM_EMAIL]))
"""
ORIGIN = {"WAKE_ORIGIN": "https://wake.example.com"}
FROM = "Wake <wake@wake.example.com>"


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"WAKE_DEV": "1"}, ["console", 587, True, False, True, "Wake <wake@127.0.0.1>"]),
        (ORIGIN, ["dummy", 587, True, False, False, FROM]),
        ({**ORIGIN, "EMAIL_HOST": "mail"}, ["smtp", 587, True, False, True, FROM]),
        (
            {**ORIGIN, "EMAIL_HOST": "mail", "EMAIL_PORT": "465", "EMAIL_FROM": "inbox@wake.dev"},
            ["smtp", 465, False, True, True, "inbox@wake.dev"],
        ),
        (
            {**ORIGIN, "EMAIL_HOST": "mail", "EMAIL_PORT": "25", "EMAIL_USE_TLS": "0"},
            ["smtp", 25, False, False, True, FROM],
        ),
    ],
)
def test_the_environment_configures_the_mail_server(
    environment: dict[str, str], expected: list[Any]
) -> None:
    ours = ("WAKE_", "EMAIL_")
    asked = {name: value for name, value in os.environ.items() if not name.startswith(ours)}

    process = subprocess.run(
        [sys.executable, "-c", SHOW],
        env={**asked, **environment},
        capture_output=True,
        check=True,
        text=True,
    )

    assert json.loads(process.stdout) == expected


def test_a_digest_arrives_at_a_real_mail_server(
    bob: User, make_delivery: Any, letters: list[str]
) -> None:
    make_delivery(at=NINE, headline="Prüfbericht — bereit")
    Preferences.objects.create(user=bob, next_digest_at=NINE)

    assert digests.send_due(clock=lambda: NINE) == 1

    (letter,) = letters
    assert "Subject: Wake: 1 delivery needs you\r\n" in letter
    assert "To: bob@example.com\r\n" in letter
    assert "List-Unsubscribe: <http://127.0.0.1:8000/settings/digest/>\r\n" in letter


def test_an_unavailable_mail_server_is_recorded_in_the_row(
    bob: User, make_delivery: Any, settings: Any, letters: list[str]
) -> None:
    make_delivery(at=NINE)
    Preferences.objects.create(user=bob, next_digest_at=NINE)
    with socketserver.TCPServer(("127.0.0.1", 0), Letterbox) as closed_again:
        settings.EMAIL_PORT = closed_again.server_address[1]

    assert digests.send_due(clock=lambda: NINE) == 0

    row = Preferences.objects.get()
    assert "Connection refused" in row.digest_error
    assert row.next_digest_at == NINE + digests.BACK_OFF[0]
