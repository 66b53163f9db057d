"""A full disk causes 503, and nothing is stored in part or lost."""

from __future__ import annotations

import html
import re
import secrets
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.db import connection
from django.db.backends.signals import connection_created

from accounts.models import User
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.stress.faults.parts import Parts
from tests.stress.faults.site import AgentAt, PersonAt
from tests.wake.callbacks.world import eventually
from wake.models import Delivery, Response

pytestmark = pytest.mark.system

UNLIMITED = 4_294_967_294  # in pages; SQLite allows no more

# No page of the database has room for so much, and it cannot be compressed.
LONG = secrets.token_urlsafe(12_000)
WORDS = f'Not yet: "quoted" <b>\nand a second line. {LONG}'


def refused(answer: Any) -> None:
    assert answer.status_code == 503, answer.content
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.json()["error"]["code"] == "unavailable"


def form_in(page: str) -> dict[str, str]:
    """Returns the form that a browser would send again."""
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', page)
    typed = re.findall(r'<textarea[^>]* name="(\w+)"[^>]*>\n(.*?)</textarea>', page, re.DOTALL)
    return {name: html.unescape(text) for name, text in hidden + typed}


@pytest.fixture
def full_sqlite(db: None) -> Iterator[Callable[[bool], None]]:
    """Sets the database's own limit, at which a write fails as on a full disk. SQLite keeps the
    limit for one connection, and requests open new ones."""
    pages = UNLIMITED

    def limit(**_: Any) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f"PRAGMA max_page_count = {pages}")

    def fill(is_full: bool) -> None:
        nonlocal pages
        with connection.cursor() as cursor:
            cursor.execute("VACUUM")  # removes the room in pages that other tests left free
        pages = 1 if is_full else UNLIMITED
        limit()

    connection_created.connect(limit)
    yield fill
    connection_created.disconnect(limit)
    fill(False)


@pytest.mark.skipif(bool(settings.DATABASE_URL), reason="about SQLite")
@pytest.mark.django_db(transaction=True)
def test_on_sqlite(caller: AgentClient, alice: User, full_sqlite: Callable[[bool], None]) -> None:
    browser = Client(raise_request_exception=False)
    browser.force_login(alice)
    pk = caller.deliver()
    form = {"status": "redirected", "feedback": WORDS}
    form["content_hash"] = Delivery.objects.get().content_hash
    browser.get(f"/deliveries/{pk}/")
    form["csrfmiddlewaretoken"] = browser.cookies[settings.CSRF_COOKIE_NAME].value

    full_sqlite(True)
    refused(caller.post(caller.payload(details=LONG)))
    page = browser.post(f"/deliveries/{pk}/response", form)
    read = caller.poll(pk)
    full_sqlite(False)

    assert page.status_code == 503
    typed_form = form_in(page.content.decode())
    assert typed_form == form
    assert read["status"] == "pending"
    assert Delivery.objects.count() == 1
    assert not Response.objects.exists()
    assert browser.post(f"/deliveries/{pk}/response", typed_form).status_code == 303
    assert Response.objects.get().feedback == WORDS


def test_on_postgresql(parts: Parts, agent_at: AgentAt, alice_at: PersonAt) -> None:
    if parts.disk is None:
        pytest.skip("nothing may be mounted here")
    pk = agent_at.deliver(once="before the disk was full")
    agent_at.get(pk)
    fresh_form = form_in(alice_at.read(pk).text)

    parts.disk.fill()
    try:
        refused(agent_at.post(details=LONG))
        form = {**fresh_form, "status": "redirected", "feedback": WORDS}
        page = alice_at.send(pk, **form)
        read = agent_at.get(pk)
        alive = httpx.get(f"{parts.origin}/healthz")
        reported = eventually(lambda: _full_disks(parts.origin) == ["database"], seconds=20)
    finally:
        parts.disk.empty()

    assert page.status_code == 503
    typed_form = form_in(page.text)
    assert typed_form == form
    assert reported
    assert (read.json()["status"], alive.status_code) == ("pending", 200)
    assert agent_at.post(details=LONG).status_code == 201
    assert alice_at.client.post(f"/deliveries/{pk}/response", data=typed_form).status_code == 303
    assert html.escape('"quoted" <b>') in alice_at.read(pk).text
    assert eventually(lambda: not _full_disks(parts.origin), seconds=20)


def _full_disks(origin: str) -> list[str]:
    answer = httpx.get(f"{origin}/readyz", timeout=60)
    full = [name for name, state in answer.json()["disks"].items() if state == "full"]
    assert answer.status_code == 503 or not full
    return full
