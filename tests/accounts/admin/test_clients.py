"""The admin lists connected clients apart from keys, and ends them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.urls import reverse

from accounts.models import Agent, AuditEvent, OAuthGrant, User
from tests.fixtures.clients import connected
from tests.fixtures.strict_client import Client


def page_of(grant: OAuthGrant) -> str:
    return reverse("admin:accounts_oauthgrant_change", args=[grant.pk])


def end(browser: Client, grant: OAuthGrant, **options: Any) -> Any:
    return browser.post(f"/admin/accounts/oauthgrant/{grant.pk}/end/", **options)


def test_an_operator_ends_a_client(operator: Client, olga: User, alice: User, agent: Agent) -> None:
    grant = connected(agent, alice)
    listed = operator.get("/admin/accounts/oauthgrant/").content.decode()
    assert "Example Chat" in listed
    assert "connected" in listed

    answer = end(operator, grant, page=page_of(grant), follow=True)

    shown = answer.content.decode()
    assert "Example Chat was ended." in shown
    assert "End now" not in shown
    grant.key.refresh_from_db()
    assert grant.key.revoked_at is not None
    assert AuditEvent.objects.get(event="client.ended").actor_name == str(olga)


@pytest.mark.parametrize(
    ("granted", "status_code"), [("view_oauthgrant", 403), ("change_oauthgrant", 302)]
)
def test_support_needs_the_permission(
    olga: User, alice: User, agent: Agent, granted: str, status_code: int
) -> None:
    grant = connected(agent, alice)
    olga.is_superuser = False
    olga.save()
    for codename in {"view_oauthgrant", granted}:
        olga.user_permissions.add(Permission.objects.get(codename=codename))
    client = Client()
    client.force_login(olga)
    assert ("End now" in client.get(page_of(grant)).content.decode()) == (status_code == 302)

    assert end(client, grant, by_hand=True).status_code == status_code

    assert OAuthGrant.objects.filter(key__revoked_at__isnull=False).exists() == (status_code == 302)


def test_a_link_to_the_address_that_ends_changes_nothing(
    operator: Client, alice: User, agent: Agent
) -> None:
    grant = connected(agent, alice)

    assert operator.get(f"/admin/accounts/oauthgrant/{grant.pk}/end/").status_code == 405
    assert OAuthGrant.objects.filter(key__revoked_at__isnull=True).exists()


def test_a_client_is_no_key_on_the_pages_about_keys(
    operator: Client, alice: User, agent: Agent
) -> None:
    grant = connected(agent, alice)
    agents_page = f"/admin/accounts/agent/{agent.pk}/"

    listed = operator.get("/admin/accounts/apikey/").content.decode()
    detail = operator.get(f"{agents_page}change/").content.decode()
    agents = operator.get("/admin/accounts/agent/").content.decode()
    rotated = operator.post(f"{agents_page}keys/{grant.pk}/rotate/", by_hand=True)
    revoked = operator.post(f"{agents_page}keys/{grant.pk}/revoke/", by_hand=True)

    assert grant.key.hint not in listed
    assert grant.key.hint not in detail
    assert '<td class="field-keys_in_use">0</td>' in agents
    assert (rotated.status_code, revoked.status_code) == (404, 404)
