"""Callbacks go to hosts that the team's list names, and the name is compared in one form only."""

from __future__ import annotations

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from accounts.audit import SYSTEM
from accounts.models import AuditEvent, Team, User
from wake.callbacks.allowlist import AddressRefused, allow, canonical, check, masked
from wake.models import CallbackHost


@pytest.mark.parametrize(
    ("written", "canonical_form"),
    [
        ("hooks.example.com", "hooks.example.com"),
        ("  Hooks.Example.COM. \n", "hooks.example.com"),
        ("hooks.example.com:443", "hooks.example.com"),
        ("hooks.example.com:8443", "hooks.example.com:8443"),
        ("hooks.example.com.:08443", "hooks.example.com:8443"),
        ("*.Example.com", "*.example.com"),
        ("*.example.com:8443", "*.example.com:8443"),
        ("*.example.co.uk", "*.example.co.uk"),
        ("*.services.internal", "*.services.internal"),
        ("straße.example", "xn--strae-oqa.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("bücher。example", "xn--bcher-kva.example"),
        ("my_hooks.example.com", "my_hooks.example.com"),
        ("localhost:9000", "localhost:9000"),
        ("127.0.0.1:9000", "127.0.0.1:9000"),
    ],
)
def test_an_entry_has_one_canonical_form(written: str, canonical_form: str) -> None:
    assert canonical(written) == canonical_form


@pytest.mark.parametrize(
    "written",
    [
        "",
        "*",
        "*.",
        "*.com",
        "*.co.uk",
        "*.github.io:8443",
        "*.execute-api.us-east-1.amazonaws.com",
        "*.公司.cn",
        "*.unheard-of",
        "*.localhost",
        "*.127.0.0.1",
        "a.*.example.com",
        "https://hooks.example.com",
        "hooks.example.com/path",
        "someone@hooks.example.com",
        "hooks.example.com:",
        "hooks.example.com:0",
        "hooks.example.com:65536",
        "hooks.example.com:https",
        "hooks.example.com:٤٤٣",
        "hooks..example.com",
        "-hooks.example.com",
        "hooks example.com",
        "hooks.example.com\\",
        "ho\u200boks.exam\u202eple.com:x",
        "10.0.0.1",
        "8.8.8.8",
        "*.8.8.8",
        "2130706433",
        "0x7f.1",
        "１２７.0.0.2",  # noqa: RUF001 - written with full-width digits
        "[::1]",
        "[::1]:443",
        "::1",
        "a" * 64 + ".example.com",
        "a." * 127 + "example",
        "\ud800.example",
    ],
)
def test_an_invalid_host_is_no_entry(written: str) -> None:
    with pytest.raises(AddressRefused) as refusal:
        canonical(written)

    assert len(str(refusal.value).split()) > 3


@pytest.mark.parametrize(
    ("line", "url"),
    [
        ("hooks.example.com", "https://hooks.example.com"),
        ("hooks.example.com", "https://HOOKS.example.com.:443/a/b?c=d&e=%2F"),
        ("hooks.example.com:8443", "https://hooks.example.com:8443/"),
        ("*.example.com", "https://a.example.com/"),
        ("*.example.com", "https://a.b.example.com/"),
        ("*.example.com:8443", "https://a.example.com:8443/"),
        ("bücher.example", "https://xn--bcher-kva.example/"),
        ("xn--bcher-kva.example", "https://BÜCHER.example/"),
        ("localhost:9000", "http://localhost:9000/hook"),
        ("127.0.0.1:9000", "http://127.0.0.1:9000/hook"),
        ("localhost:80", "http://localhost/hook"),
    ],
)
def test_a_listed_host_is_allowed(team: Team, line: str, url: str) -> None:
    allow(line, team=team, by=SYSTEM)

    check(url, team_id=team.pk)


@pytest.mark.parametrize(
    ("url", "code"),
    [
        ("https://example.com/", "host_not_allowed"),
        ("https://evilexample.com/", "host_not_allowed"),
        ("https://a.example.com.evil.com/", "host_not_allowed"),
        ("https://hooks.other.com:8443/", "host_not_allowed"),
        ("https://a.example.com:8443/", "host_not_allowed"),
        ("https://ports.other.com/", "host_not_allowed"),
        ("https://xn--example-.com/", "bad_host"),
        ("http://a.example.com/", "https_required"),
        ("ftp://a.example.com/", "https_required"),
        ("//a.example.com/", "https_required"),
        ("a.example.com", "https_required"),
        ("javascript:alert(1)", "https_required"),
        ("file:///etc/passwd", "https_required"),
        ("https://", "bad_host"),
        ("https:///x", "bad_host"),
        ("https://user@a.example.com/", "bad_url"),
        ("https://a.example.com@evil.com/", "bad_url"),
        ("https://a.example.com:pass@evil.com/", "bad_url"),
        ("https://a.example.com/#x", "bad_url"),
        ("https://a.example.com\\@evil.com/", "bad_url"),
        ("https://evil.com\\.example.com/", "bad_url"),
        ("https://a.example.com/\n", "bad_url"),
        ("https://a.exam\tple.com/", "bad_url"),
        (" https://a.example.com/", "bad_url"),
        ("https://a.example.com/a b", "bad_url"),
        ("https://a.example.com/\x00", "bad_url"),
        ("https://a.example.com/\u2028", "bad_url"),
        ("https://a.example.com/é", "bad_url"),
        ("https://a.example.com:x/", "bad_url"),
        ("https://a.example.com:99999/", "bad_url"),
        ("https://a.example.com:0/", "bad_port"),
        ("https://[::1/", "bad_url"),
        ("https://a%2eexample.com/", "bad_host"),
        ("https://a.example.com%00.evil.com/", "bad_host"),
        ("https://8.8.8.8/", "ip_address"),
        ("https://0177.0.0.1/", "ip_address"),
        ("https://0x7f000001/", "ip_address"),
        ("https://2130706433/", "ip_address"),
        ("https://127.1/", "ip_address"),
        ("https://[::1]/", "ip_address"),
        ("https://[::ffff:127.0.0.1]/", "ip_address"),
        ("https://[fe80::1%25eth0]/", "ip_address"),
        ("https://１６９.254.169.254/", "ip_address"),  # noqa: RUF001
        ("https://a.example.com℀/", "bad_url"),
        ("http://localhost:9000/", "host_not_allowed"),
        ("http://127.0.0.2:9000/", "ip_address"),
    ],
)
def test_everything_else_is_refused_with_a_sentence(team: Team, url: str, code: str) -> None:
    for line in ("*.example.com", "hooks.other.com", "ports.other.com:8443"):
        allow(line, team=team, by=SYSTEM)

    with pytest.raises(AddressRefused) as refusal:
        check(url, team_id=team.pk)

    assert refusal.value.code == code
    assert len(str(refusal.value).split()) > 3


@pytest.mark.parametrize("url", ["http://localhost:9000/", "http://127.0.0.1:9000/"])
def test_only_development_allows_plain_http_to_loopback(
    team: Team, settings: Any, url: str
) -> None:
    allow("localhost:9000", team=team, by=SYSTEM)
    allow("127.0.0.1:9000", team=team, by=SYSTEM)
    check(url, team_id=team.pk)

    settings.DEVELOPMENT = False

    with pytest.raises(AddressRefused):
        check(url, team_id=team.pk)
    with pytest.raises(AddressRefused):
        canonical("localhost:9000")
    with pytest.raises(AddressRefused):
        canonical("127.0.0.1:9000")


def test_another_teams_allowlist_does_not_apply(team: Team, mallory: User) -> None:
    allow("hooks.example.com", team=mallory.teams.get(), by=SYSTEM)

    with pytest.raises(AddressRefused):
        check("https://hooks.example.com/", team_id=team.pk)


def test_a_check_asks_the_database_once(team: Team, django_assert_num_queries: Any) -> None:
    allow("*.example.com", team=team, by=SYSTEM)

    with django_assert_num_queries(1):
        check("https://a.b.c.d.example.com:443/x", team_id=team.pk)


def test_a_callback_to_an_unlisted_host_is_422_with_instructions(
    caller: Any, settings: Any
) -> None:
    settings.WAKE_ORIGIN = "https://wake.example.org"
    answer = caller.post(caller.payload(callback_webhook="https://hooks.example.com/x"))

    assert answer.status_code == 422
    (problem,) = answer.json()["error"]["fields"]
    assert problem["field"] == "callback_webhook"
    assert problem["code"] == "host_not_allowed"
    page = "https://wake.example.org" + reverse("settings-allowlist")
    assert f"An owner can add it at {page}, or" in problem["message"]
    assert "allow_callback hooks.example.com" in problem["message"]


def test_the_command_adds_an_entry_once_and_says_so(team: Team) -> None:
    output = StringIO()

    call_command("allow_callback", "Hooks.Example.com:8443", stdout=output)
    call_command("allow_callback", "hooks.example.com.:8443", stdout=output)

    assert output.getvalue().splitlines() == [
        "Callbacks of garden may now go to hooks.example.com:8443.",
        "Callbacks of garden may already go to hooks.example.com:8443.",
    ]
    assert CallbackHost.objects.filter(team=team).count() == 1
    event = AuditEvent.objects.get(event="callback_host.allowed")
    assert (event.team_id, event.object_name) == (team.pk, "hooks.example.com:8443")
    assert event.actor_kind == "operator"


def test_the_command_takes_a_team(team: Team, mallory: User) -> None:
    call_command("allow_callback", "hooks.example.com", "--team", "other", stdout=StringIO())

    assert CallbackHost.objects.get().team.slug == "other"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["https://hooks.example.com/x"], "only the host"),
        (["hooks.example.com", "--team", "nobody"], "'nobody'"),
    ],
)
def test_the_command_says_what_is_wrong(team: Team, arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words):
        call_command("allow_callback", *arguments)


@pytest.mark.django_db
def test_the_command_needs_a_team() -> None:
    with pytest.raises(CommandError, match="issue_key"):
        call_command("allow_callback", "hooks.example.com")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://hooks.example.com", "https://hooks.example.com/"),
        ("https://hooks.example.com/", "https://hooks.example.com/"),
        ("https://Hooks.Example.com:443/wake", "https://hooks.example.com/…"),
        ("https://hooks.example.com:8443/wake?token=1", "https://hooks.example.com:8443/…"),
        ("https://hooks.example.com/" + "a" * 22, "https://hooks.example.com/…"),
        ("https://hooks.example.com/" + "a" * 19 + "9Z8x", "https://hooks.example.com/…9Z8x"),
        ("https://hooks.example.com/?resume=0123456789abcdef", "https://hooks.example.com/…cdef"),
        ("ftp://hooks.example.com/secret", "…"),
        ("", "…"),
    ],
)
def test_a_masked_url_shows_its_host_and_the_end_of_a_long_path(url: str, shown: str) -> None:
    """Paths can be secrets (docs/decisions/0080-callback-urls-are-masked.md)."""
    assert masked(url) == shown
