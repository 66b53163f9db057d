"""While passwords are switched off, only the provider signs people in."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.models import Team, User
from accounts.sign_in.passkeys import mails
from accounts.sign_in.passwords import resets as password_resets
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.accounts.sign_in.oidc.visitor import CONNECT, DISCONNECT, invite, is_signed_in, visit
from tests.fixtures.authenticator import Authenticator, add_passkey, browser_at_localhost
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def off(provider: MockProvider, settings: Any) -> None:
    settings.WAKE_PASSWORDS = False


def test_there_is_only_the_provider(client: Client) -> None:
    page = text_of(client.get("/login/"))

    assert "Sign in with Example" in page
    assert "Password" not in page
    assert "Forgot" not in page


def test_no_form_takes_a_password(client: Client, alice: User, team: Team, alices: Person) -> None:
    join = f"/join/{invite(team, alice)}/"
    new = {"new_password1": "another pair of words", "new_password2": "another pair of words"}
    for answer in (
        client.post("/login/", {"username": alice.email, "password": PASSWORD}),
        client.get("/login/reset/"),
        client.post("/login/reset/", {"email": alice.email}),
        client.get("/login/reset/x/y/"),
        client.post(join, {"display_name": "Eve", "email": "eve@example.com", **new}),
    ):
        assert answer.status_code == 403
        assert "Everyone signs in to this server with Example." in text_of(answer)
    assert "Create account" not in text_of(client.get(join))
    assert not User.objects.filter(email="eve@example.com").exists()
    assert not is_signed_in(alices.client), "Sessions that began with a password end."


def test_a_person_with_both_uses_the_provider(
    provider: MockProvider, client: Client, settings: Any, alices: Person
) -> None:
    settings.WAKE_PASSWORDS = True
    visit(alices.client, CONNECT)
    settings.WAKE_PASSWORDS = False

    visit(client)

    assert client.get("/").status_code == 200
    assert client.post("/settings/password/", {"old_password": PASSWORD}).status_code == 403
    assert "You'd have no way to sign in" in text_of(client.post(DISCONNECT))


def test_a_passkey_is_a_second_step_after_the_provider(
    provider: MockProvider, settings: Any, alice: User, mailoutbox: list[Any]
) -> None:
    browser = browser_at_localhost(alice)
    settings.WAKE_PASSWORDS = True
    visit(browser, CONNECT)
    settings.WAKE_PASSWORDS = False
    visit(browser)

    add_passkey(browser, Authenticator())
    add_passkey(browser, Authenticator(), "Stick")

    page = text_of(browser.get("/settings/security/"))
    assert "Passkey added. It is your second step after you sign in with your provider." in page
    assert mails.send_due() == 2
    for mail in mailoutbox:
        for body in (mail.body, mail.alternatives[0].content):
            assert "It is your second step after you sign in with your provider." in body
            assert "password" not in body


def test_an_account_that_was_not_connected_needs_the_operator(client: Client) -> None:
    User.objects.create_user("nora@corp.example", PASSWORD)

    assert "Ask your administrator" in text_of(visit(client))
    with pytest.raises(CommandError, match="No person has this e-mail address"):
        call_command("reset_sign_in", "none@corp.example")
    call_command("reset_sign_in", "Nora@corp.example")

    assert visit(client).status_code == 303
    assert User.objects.get().identities.exists()


def test_a_reset_that_was_asked_for_before_is_not_mailed(
    alice: User, mailoutbox: list[Any]
) -> None:
    password_resets.request_reset(alice.email, address="", at=timezone.now())

    assert password_resets.send_due() == 0
    assert mailoutbox == []
