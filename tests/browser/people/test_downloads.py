"""A file that a browser downloads is whole, also where the server streams and compresses."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Browser

from accounts.models import AuditEvent, Team, User
from tests.browser.screen import Screen
from tests.fixtures.served import served

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = 1_200  # the file has more than one part


@pytest.fixture
def origin(db: None, collected: Path) -> Iterator[str]:
    with served("asgi", WAKE_TEST_STATIC=str(collected)) as origin:
        yield origin


def test_the_audit_is_downloaded_whole(
    chromium: Browser, origin: str, alice: User, team: Team
) -> None:
    """Each part used to be compressed by itself, and browsers read only the first one: the header
    line."""
    AuditEvent.objects.bulk_create(
        AuditEvent(
            at=timezone.now(),
            team_id=team.pk,
            event="agent.paused",
            actor_kind="system",
            object_kind="agent",
            object_id="1",
        )
        for _ in range(EVENTS)
    )
    screen = Screen(chromium, origin, alice, accept_downloads=True)
    page = screen.go("/audit/")
    texts = []

    for name in ("CSV", "JSON Lines"):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        texts.append(Path(download.value.path()).read_text())

    table, lines = texts
    assert len(list(csv.reader(table.splitlines()))) >= 1 + EVENTS
    assert len([json.loads(line) for line in lines.splitlines()]) >= EVENTS
    assert screen.complaints == []
    screen.close()
