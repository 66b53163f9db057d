"""The admin uses the sign-in page of the inbox and opens for administrators only."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from accounts.models import Agent, ApiKey, AuditEvent, User
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.types import SignedIn


def test_an_anonymous_visitor_is_redirected_to_the_sign_in_page(client: Client, db: None) -> None:
    answer = client.get("/admin/accounts/agent/", follow=True)

    assert [place for place, _ in answer.redirect_chain] == [
        "/admin/login/?next=/admin/accounts/agent/",
        "/login/?next=/admin/accounts/agent/",
    ]


def test_the_admins_own_sign_in_form_does_not_sign_in(client: Client, olga: User) -> None:
    answer = client.post("/admin/login/", {"username": olga.email, "password": PASSWORD})

    assert answer.status_code == 302
    assert answer["Location"].startswith("/login/")
    assert "_auth_user_id" not in client.session


def test_staff_are_redirected_into_the_admin(operator: Client) -> None:
    assert operator.get("/admin/login/")["Location"] == "/admin/"
    assert operator.get("/admin/").status_code == 200


def test_a_member_of_a_team_gets_a_404_and_no_redirect_loop(
    signed_in: SignedIn, alice: User
) -> None:
    answer = signed_in(alice).get("/admin/", follow=True)

    assert answer.status_code == 404
    assert len(answer.redirect_chain) == 1


def test_a_superuser_who_is_not_staff_cannot_enter(signed_in: SignedIn, olga: User) -> None:
    olga.is_staff = False
    olga.save(update_fields=["is_staff"])

    assert signed_in(olga).get("/admin/", follow=True).status_code == 404


def test_a_deactivated_person_is_signed_out_at_once(operator: Client, olga: User) -> None:
    olga.is_active = False
    olga.save(update_fields=["is_active"])

    assert operator.get("/admin/").status_code == 302


ACTIONS = ["issue_key", "rotate_key", "revoke_key", "rotate_secret", "switch_secret", "pause"]


@pytest.mark.parametrize("action", ACTIONS)
def test_no_member_of_the_team_reaches_a_key_through_the_admin(
    signed_in: SignedIn, alice: User, key: ApiKey, action: str
) -> None:
    args = [key.agent_id, key.pk] if action in {"rotate_key", "revoke_key"} else [key.agent_id]
    answer = signed_in(alice).post(reverse(f"admin:accounts_agent_{action}", args=args))

    assert answer.status_code == 302
    assert ApiKey.objects.filter(revoked_at=None).count() == 1
    assert Agent.objects.get().paused_at is None


@pytest.mark.parametrize("action", ACTIONS)
def test_staff_without_the_permission_can_only_read(
    signed_in: SignedIn, alice: User, key: ApiKey, action: str
) -> None:
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    alice.user_permissions.add(Permission.objects.get(codename="view_agent"))
    browser = signed_in(alice)
    args = [key.agent_id, key.pk] if action in {"rotate_key", "revoke_key"} else [key.agent_id]

    page = browser.get(reverse("admin:accounts_agent_change", args=[key.agent_id]))
    answer = browser.post(reverse(f"admin:accounts_agent_{action}", args=args))

    assert page.status_code == 200
    assert b"Issue a key" not in page.content
    assert b"Revoke" not in page.content
    assert answer.status_code == 403
    assert ApiKey.objects.filter(revoked_at=None).count() == 1


def test_every_button_needs_the_pages_own_csrf_token(olga: User, key: ApiKey) -> None:
    browser = Client(sends_tokens=False)
    browser.force_login(olga)
    answer = browser.post(
        reverse("admin:accounts_agent_revoke_key", args=[key.agent_id, key.pk]),
    )

    assert answer.status_code == 403
    assert ApiKey.objects.get().revoked_at is None


def test_staff_cannot_raise_their_own_permissions(
    signed_in: SignedIn, alice: User, olga: User
) -> None:
    alice.is_staff = True
    alice.save(update_fields=["is_staff"])
    alice.user_permissions.set(Permission.objects.filter(content_type__app_label="accounts"))
    browser = signed_in(alice)
    form = {
        "email": alice.email,
        "display_name": "Alice",
        "time_zone": "UTC",
        "is_active": "on",
        "is_superuser": "on",
        "memberships-TOTAL_FORMS": "0",
        "memberships-INITIAL_FORMS": "0",
    }

    saved = browser.post(reverse("admin:accounts_user_change", args=[alice.pk]), form)
    other = browser.post(reverse("admin:accounts_user_change", args=[olga.pk]), form)
    password = browser.get(reverse("admin:auth_user_password_change", args=[olga.pk]))
    removed = browser.post(reverse("admin:accounts_user_delete", args=[olga.pk]), {"post": "yes"})

    assert saved.status_code == 302
    assert {other.status_code, password.status_code, removed.status_code} == {403}
    alice.refresh_from_db()
    assert not alice.is_superuser
    assert alice.is_staff
    assert User.objects.get(pk=olga.pk).email == olga.email


def test_signing_out_of_the_admin_is_audited(operator: Client) -> None:
    answer = operator.post("/admin/logout/")
    left = operator.post(answer["Location"])

    assert (answer.status_code, answer["Location"]) == (307, "/logout/")
    assert left.status_code == 302
    assert "_auth_user_id" not in operator.session
    assert AuditEvent.objects.get().event == "person.signed_out"


def test_staff_change_their_password_on_the_page_for_everyone(operator: Client) -> None:
    """The inbox's sign-in counts the tries and records the event."""
    path = "/admin/password_change/"

    for answer in (operator.get(path), operator.post(path, by_hand=True)):
        assert (answer.status_code, answer["Location"]) == (302, "/settings/profile/")
        assert operator.get(answer["Location"]).status_code == 200
