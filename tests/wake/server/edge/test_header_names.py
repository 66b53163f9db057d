"""The real servers drop headers that only look like the proxy's own."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from accounts.models import AuditEvent, Team, User
from tests.fixtures.served import served

pytestmark = pytest.mark.django_db(transaction=True)

CLIENT = "203.0.113.7"
RESETS_AN_HOUR = 10


@pytest.fixture(params=["asgi", "wsgi"])
def browser(db: None, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    with (
        served(request.param, WAKE_PROXY_CLIENT_HEADER="X-Forwarded-For") as origin,
        httpx.Client(base_url=origin, timeout=60) as client,
    ):
        client.get("/login/")  # sets the CSRF cookie
        yield client


def test_a_header_with_underscores_does_not_override_the_proxys(
    browser: httpx.Client, alice: User, team: Team
) -> None:
    def post(path: str, number: int, **fields: str) -> httpx.Response:
        genuine, forged = ("X-Forwarded-For", CLIENT), ("X_Forwarded_For", f"192.0.2.{number}")
        both = [genuine, forged] if number % 2 else [forged, genuine]
        fields["csrfmiddlewaretoken"] = browser.cookies["csrftoken"]
        return browser.post(path, data=fields, headers=both)

    signed_in = post("/login/", 1, username="alice@example.com", password="wrong")
    resets = [
        post("/login/reset/", number, email=f"{number}@example.com").status_code
        for number in range(RESETS_AN_HOUR + 2)
    ]

    assert signed_in.status_code == 422
    failed = AuditEvent.objects.filter(event__contains="fail").latest("pk")
    assert failed.address == CLIENT
    assert resets.count(429) == 2, resets
