"""Every page has security headers, and production cookies are secure."""

from __future__ import annotations

from collections.abc import Iterator
from http.cookies import SimpleCookie
from typing import Any

import httpx
import pytest

from accounts.models import Team, User
from tests.fixtures.people import PASSWORD
from tests.fixtures.served import served
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person
from tests.tenancy import addresses
from tests.tenancy.team_data import build

pytestmark = pytest.mark.slow

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Strict-Transport-Security": "max-age=31536000; includeSubDomains; preload",
}


@pytest.fixture
def over_https(settings: Any) -> None:
    settings.SECURE_HSTS_SECONDS = 31_536_000
    settings.SECURE_HSTS_INCLUDE_SUBDOMAINS = settings.SECURE_HSTS_PRELOAD = True


# Files that a browser installs contain nothing of a person or a team.
CACHED = {"/manifest.webmanifest", "/offline/", "/service-worker.js"}


def test_every_page_is_sent_with_every_header(
    over_https: None, team: Team, alice: User, subtests: pytest.Subtests
) -> None:
    """This holds for answers, errors and redirects, for people who are signed in and people who are
    not."""
    house, clients = build(team, words="plan"), [Person(alice).client, Client()]
    pages = [each for each in addresses.ALL if not each.is_protocol]
    paths = [each.path_in(house) for each in pages if each.room not in addresses.OF_NO_TEAM]

    for path in [*paths, "/nothing/", "/admin/nothing/", "/login/reset/x/y/"]:
        with subtests.test(path):
            for client in clients:
                answer = client.get(path, secure=True)

                assert {name: answer[name] for name in HEADERS} == HEADERS
                is_picture = answer.status_code == 200 and _is_picture(path)
                if path not in CACHED:
                    kept = "private, no-cache" if is_picture else "no-store"
                    assert kept in answer["Cache-Control"]
                assert "camera=()" in answer["Permissions-Policy"]
                policy = answer["Content-Security-Policy"]
                assert "default-src 'none'" in policy or "sandbox" in policy
                assert "unsafe" not in policy


def _is_picture(path: str) -> bool:
    return "/images/" in path or "/pictures/" in path


def test_files_are_cached_and_pages_are_not(db: None) -> None:
    answer = Client().get("/static/css/tokens.css", secure=True)
    answer.close()

    assert "no-store" not in answer["Cache-Control"]
    assert answer["X-Content-Type-Options"] == "nosniff"


def test_files_have_no_header_that_only_a_page_needs(db: None) -> None:
    answer = Client().get("/static/css/tokens.css", secure=True)
    answer.close()

    assert answer["Cross-Origin-Resource-Policy"] == "same-origin"
    of_pages = {"Permissions-Policy", "Reporting-Endpoints", "Access-Control-Allow-Origin"}
    assert of_pages.isdisjoint(answer.headers)


PRODUCTION = {
    "WAKE_DEV": "",
    "WAKE_ORIGIN": "https://wake.example.com",
    "WAKE_SECRET_KEY": "s" * 50,
    "WAKE_ENCRYPTION_KEYS": "e" * 50,
    "WAKE_PROXY_SCHEME_HEADER": "X-Forwarded-Proto",
}


@pytest.fixture
def production(
    transactional_db: None, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> Iterator[httpx.Client]:
    """Returns Alice's browser, in front of a real server behind a proxy with TLS."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.PBKDF2PasswordHasher"]
    User.objects.create_user("alice@example.com", PASSWORD)
    proxied = {
        "Host": "wake.example.com",
        "X-Forwarded-Proto": "https",
        "Referer": "https://wake.example.com/login/",
    }
    with (
        served("wsgi", **PRODUCTION) as origin,
        httpx.Client(base_url=origin, headers=proxied, timeout=60) as client,
    ):
        yield client


def test_every_production_cookie_is_host_only(production: httpx.Client) -> None:
    form = production.get("/login/")
    jar = cookies(form)
    signed_in = production.post(
        "/login/",
        data={
            "username": "alice@example.com",
            "password": PASSWORD,
            "csrfmiddlewaretoken": form.text.split('csrfmiddlewaretoken" value="')[1][:64],
        },
        headers={"Cookie": header(jar)},
    )
    assert signed_in.status_code == 303, signed_in.text
    jar |= cookies(signed_in)
    page = production.get("/settings/theme/", headers={"Cookie": header(jar)})
    saved = production.post(
        "/settings/theme/",
        data={
            "theme": "dark",
            "csrfmiddlewaretoken": page.text.split('csrfmiddlewaretoken" value="')[1][:64],
        },
        headers={"Cookie": header(jar)},
    )
    assert saved.status_code == 303, saved.text
    jar |= cookies(saved)

    assert set(jar) == {
        "__Host-csrftoken",
        "__Host-sessionid",
        "__Host-known",
        "__Host-messages",
    }
    for name, cookie in jar.items():
        assert cookie["secure"], name
        assert cookie["httponly"], name
        assert cookie["samesite"] == "Lax", name
        assert (cookie["path"], cookie["domain"]) == ("/", ""), name


def cookies(answer: httpx.Response) -> dict[str, Any]:
    jar = SimpleCookie()
    for line in answer.headers.get_list("Set-Cookie"):
        jar.load(line)
    return dict(jar)


def header(jar: dict[str, Any]) -> str:
    return "; ".join(f"{name}={cookie.coded_value}" for name, cookie in jar.items())
