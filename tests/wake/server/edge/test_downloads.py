"""A file from the real ASGI server arrives whole with any Accept-Encoding."""

from __future__ import annotations

import csv
import json
import zlib
from collections.abc import Iterator
from io import StringIO

import httpx
import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Team, User
from tests.fixtures.served import served
from tests.types import SignedIn

pytestmark = pytest.mark.django_db(transaction=True)

EVENTS = 2_500  # the export writes a part for each thousand events
ACCEPTS = ["gzip, deflate, br, zstd", "gzip", "identity"]


@pytest.fixture
def browser(alice: User, team: Team, signed_in: SignedIn) -> Iterator[httpx.Client]:
    AuditEvent.objects.bulk_create(
        AuditEvent(
            at=timezone.now(),
            team_id=team.pk,
            event="agent.paused",
            actor_kind="system",
            object_kind="agent",
            object_id=str(number),
            detail={"number": number},
        )
        for number in range(EVENTS)
    )
    session = signed_in(alice).cookies["sessionid"].value
    with served("asgi") as origin, httpx.Client(base_url=origin, timeout=60) as client:
        client.cookies.set("sessionid", session)
        yield client


def test_an_audit_export_is_downloaded_whole_in_a_browser(
    browser: httpx.Client, subtests: pytest.Subtests
) -> None:
    for accepts in ACCEPTS:
        with subtests.test(f"CSV, {accepts}"):
            text = download(browser, "/audit/export.csv?event=agent.paused", accepts)
            rows = list(csv.DictReader(StringIO(text, newline="")))
            assert {row["object_id"] for row in rows} == set(map(str, range(EVENTS)))
            assert len(rows) == EVENTS
        with subtests.test(f"JSON Lines, {accepts}"):
            text = download(browser, "/audit/export.jsonl?event=agent.paused", accepts)
            numbers = [json.loads(line)["detail"]["number"] for line in text.splitlines()]
            assert sorted(numbers) == list(range(EVENTS))


def download(browser: httpx.Client, path: str, accepts: str) -> str:
    """Returns the file as browsers and curl decode it: they stop at the end of the first gzip
    member."""
    with browser.stream("GET", path, headers={"Accept-Encoding": accepts}) as answer:
        assert answer.status_code == 200
        assert "attachment" in answer.headers["Content-Disposition"]
        sent = b"".join(answer.iter_raw())
    match answer.headers.get("Content-Encoding", "identity"):
        case "identity":
            return sent.decode()
        case "gzip":
            return zlib.decompressobj(wbits=31).decompress(sent).decode()
        case other:
            raise AssertionError(other)
