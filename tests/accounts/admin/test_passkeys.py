"""The operator sees who owns a passkey, and can remove the passkey. The operator cannot add or
change passkeys."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from accounts.models import AuditEvent, Passkey, PasskeyNotice, User
from accounts.sign_in.two_step import second_factor
from tests.fixtures.authenticator import Authenticator, add_passkey, browser_at_localhost
from tests.fixtures.strict_client import Client


@pytest.fixture
def passkey(alice: User) -> Passkey:
    add_passkey(browser_at_localhost(alice), Authenticator(), "Alice's phone")
    PasskeyNotice.objects.all().delete()
    return Passkey.objects.get()


def path(name: str, passkey: Passkey) -> str:
    return reverse(f"admin:accounts_passkey_{name}", args=[passkey.pk])


def test_a_lost_passkey_is_removed_and_its_person_told(
    operator: Client, passkey: Passkey, alice: User
) -> None:
    assert (
        b"Alice&#x27;s phone" in operator.get(reverse("admin:accounts_passkey_changelist")).content
    )
    assert b"Are you sure" in operator.get(path("delete", passkey)).content

    operator.post(path("delete", passkey), {"post": "yes"})

    assert not second_factor.is_on(alice)
    assert PasskeyNotice.objects.get().kind == PasskeyNotice.Kind.REMOVED
    removed = AuditEvent.objects.get(event="passkey.removed")
    assert (removed.actor_name, removed.object_id) == ("olga", str(alice.pk))


def test_a_passkey_is_not_changed(operator: Client, passkey: Passkey) -> None:
    operator.post(path("change", passkey), {"name": "Mallory's"})

    passkey.refresh_from_db()
    assert passkey.name == "Alice's phone"
    assert operator.get(reverse("admin:accounts_passkey_add")).status_code == 403


def test_a_superusers_passkey_is_removed_by_superusers_only(
    client: Client, passkey: Passkey, bob: User
) -> None:
    User.objects.filter(pk=bob.pk).update(is_staff=True)
    bob.user_permissions.set(Permission.objects.filter(codename__endswith="_passkey"))
    client.force_login(User.objects.get(pk=bob.pk))
    User.objects.filter(pk=passkey.user_id).update(is_superuser=True)

    assert client.post(path("delete", passkey), {"post": "yes"}).status_code == 403

    User.objects.filter(pk=passkey.user_id).update(is_superuser=False)
    assert client.post(path("delete", passkey), {"post": "yes"}).status_code == 302
    assert not Passkey.objects.exists()
