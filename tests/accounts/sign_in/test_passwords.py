"""Every way to change a password ends the same sessions and records the same event."""

from __future__ import annotations

import io
from collections.abc import Callable

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse
from django.utils import timezone
from django.utils.encoding import force_bytes
from django.utils.http import urlsafe_base64_encode

from accounts.models import AuditEvent, SecondFactor, User
from accounts.sign_in.passwords import resets as password_resets
from accounts.sign_in.two_step import pending_second_factor
from tests.accounts.sign_in.test_second_factor import Authenticator
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person

NEW = "another pair of words"
TWICE = {"new_password1": NEW, "new_password2": NEW}


def in_the_settings(alice: User) -> str:
    form = {"old_password": PASSWORD, **TWICE}
    Person(alice).client.post("/settings/password/", form, page="/settings/profile/")
    return "alice"


def by_a_mailed_link(alice: User) -> str:
    client = Client()
    path = client.get(link_to(alice))["Location"]
    client.post(path, TWICE)
    return "alice"


def in_the_admin(alice: User) -> str:
    olga = User.objects.create_superuser("olga@example.com", PASSWORD)
    form = {"password1": NEW, "password2": NEW, "set-password": "1"}
    path = reverse("admin:auth_user_password_change", args=[alice.pk])
    Person(olga).client.post(path, form)
    return "olga"


def by_the_command(alice: User) -> str:
    call_command("changepassword", "Alice@Example.com", stderr=io.StringIO())
    return "Operator"


def link_to(user: User) -> str:
    uid = urlsafe_base64_encode(force_bytes(user.pk))
    return reverse("reset-password", args=[uid, password_resets.tokens.make_token(user)])


@pytest.mark.parametrize(
    "change", [in_the_settings, by_a_mailed_link, in_the_admin, by_the_command]
)
def test_every_way_to_a_new_password_has_the_same_effects(
    change: Callable[[User], str], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKE_PASSWORD", NEW)
    Authenticator(alice)
    SecondFactor.objects.update(tries_us=2**62)
    phone, mailed, between = Person(alice), link_to(alice), Client().session
    pending_second_factor.begin(between, alice, to="/", at=timezone.now())

    by = change(alice)

    alice.refresh_from_db()
    assert alice.check_password(NEW)
    event = AuditEvent.objects.get(event="person.password_set")
    assert (event.object_id, event.actor_name, event.detail) == (str(alice.pk), by, {})
    assert phone.get("/").status_code == 302
    assert pending_second_factor.person_of(between, at=timezone.now()) is None
    assert Client().get(mailed).status_code == 410
    assert SecondFactor.objects.get().tries_us == 0


def test_the_command_asks_for_it_twice(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("WAKE_PASSWORD", raising=False)
    typed = iter([NEW, NEW, NEW, "something else"])
    # The command reads from the terminal, and not from the standard input.
    monkeypatch.setattr(
        "accounts.management.commands.changepassword.getpass", lambda prompt: next(typed)
    )

    by_the_command(alice)
    with pytest.raises(CommandError, match="do not match"):
        by_the_command(alice)

    alice.refresh_from_db()
    assert alice.check_password(NEW)


@pytest.mark.parametrize(
    ("email", "password", "words"),
    [
        ("nobody@example.com", NEW, "No person has this e-mail address"),
        ("alice@example.com", "short", "too short"),
    ],
)
def test_the_command_says_what_is_wrong_and_changes_nothing(
    alice: User, monkeypatch: pytest.MonkeyPatch, email: str, password: str, words: str
) -> None:
    monkeypatch.setenv("WAKE_PASSWORD", password)

    with pytest.raises(CommandError, match=words):
        call_command("changepassword", email)

    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)
    assert not AuditEvent.objects.exists()
