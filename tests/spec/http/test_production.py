"""Plain http in production settings, by a real server (docs/protocol.md, Plain HTTP)."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.fixtures.served import served

pytestmark = [pytest.mark.once, pytest.mark.slow, pytest.mark.django_db]

PRODUCTION = {
    "WAKE_DEV": "",
    "WAKE_ORIGIN": "https://wake.example.com",
    "WAKE_SECRET_KEY": "s" * 50,
    "WAKE_ENCRYPTION_KEYS": "e" * 50,
    "WAKE_PROXY_SCHEME_HEADER": "X-Forwarded-Proto",
}


@pytest.fixture(scope="module")
def origin(django_db_setup: None) -> Iterator[str]:
    with served("wsgi", **PRODUCTION) as origin:
        yield origin


@pytest.mark.parametrize("headers", [{}, {"X-Forwarded-Proto": "http"}, {"X-Url-Scheme": "https"}])
def test_plain_http_is_refused_on_loopback_too(origin: str, headers: dict[str, str]) -> None:
    """ "Implementations must not accept or serve protocol requests over unencrypted HTTP in any
    production context." (whitepaper, 5.1)"""
    for path in ("/wake/v1", "/wake/v1/responses", "/wake/v1/deliver/"):
        answer = httpx.get(f"{origin}{path}", headers=headers)

        assert answer.status_code == 403
        assert answer.json()["error"]["code"] == "https_required"


def test_https_terminated_by_a_proxy_is_served(origin: str) -> None:
    """ "Behind a proxy only a configured `SECURE_PROXY_SSL_HEADER` is believed." """
    headers = {"Host": "wake.example.com", "X-Forwarded-Proto": "https"}
    answer = httpx.get(f"{origin}/wake/v1", headers=headers)

    assert answer.status_code == 200
    assert answer.json()["protocol"] == "1.0"
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"


def test_the_login_form_was_served_over_plain_http(origin: str) -> None:
    host = {"Host": "wake.example.com"}
    for path in ("/login/", "/", "/admin/"):
        answer = httpx.get(f"{origin}{path}", headers=host)

        assert answer.status_code == 403
        assert "https://wake.example.com" in answer.text
        assert "<form" not in answer.text
    secure = {**host, "X-Forwarded-Proto": "https"}
    assert httpx.get(f"{origin}/login/", headers=secure).status_code == 200
    assert httpx.get(f"{origin}/healthz").status_code == 200
