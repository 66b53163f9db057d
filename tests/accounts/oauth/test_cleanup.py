"""Deletes what clients left behind, and keeps what they still use."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from oauth2_provider.models import AccessToken, Application, Grant, RefreshToken

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, AuditEvent, OAuthGrant, User
from accounts.oauth import cleanup
from database.clock import database_now
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.oauth.test_sign_in import PeoplesClient

MINUTE, DAY = timedelta(minutes=1), timedelta(days=1)


@pytest.fixture
def now(db: None) -> datetime:
    return database_now()


def long_ago(*rows: Any, days: int) -> None:
    """Moves the times of django-oauth-toolkit's rows back. It compares them with its own clock."""
    for model in rows:
        for field in {"expires", "created", "updated", "revoked"}:
            if field in {each.name for each in model._meta.fields}:
                for row in model.objects.exclude(**{field: None}):
                    model.objects.filter(pk=row.pk).update(
                        **{field: getattr(row, field) - timedelta(days=days)}
                    )


def test_a_connected_client_keeps_everything(
    registered: OAuthClient, tokens: dict[str, Any], now: datetime
) -> None:
    cleanup.forget_unused(at=now + 20 * DAY)

    assert Application.objects.count() == 1
    assert PeoplesClient(tokens["access_token"]).ask("tools/list").status_code == 200
    assert registered.refresh(tokens["refresh_token"]).status_code == 200


def test_a_code_that_no_client_exchanged_goes_with_its_grant(
    registered: OAuthClient, alice: User, agent: Agent, now: datetime
) -> None:
    registered.consent(alice, agent)
    cleanup.forget_unused(at=now + 9 * MINUTE)
    assert OAuthGrant.objects.count() == 1

    long_ago(Grant, days=1)
    cleanup.forget_unused(at=now + 11 * MINUTE)

    assert not Grant.objects.exists()
    assert not OAuthGrant.objects.exists()
    assert not ApiKey.objects.exists()


def test_an_unused_registration_goes_after_a_day(registered: OAuthClient, now: datetime) -> None:
    cleanup.forget_unused(at=now + DAY - MINUTE)
    assert Application.objects.count() == 1

    cleanup.forget_unused(at=now + DAY + MINUTE)

    assert not Application.objects.exists()
    assert not AccessToken.objects.exists()  # the token for changing the registration


def test_a_registration_stays_as_long_as_one_grant_is_open(
    registered: OAuthClient, alice: User, agent: Agent, tokens: dict[str, Any], now: datetime
) -> None:
    registered.tokens(alice, agent)
    first, second = ApiKey.objects.order_by("created_at")
    keys.revoke(first, by=SYSTEM, at=now)
    cleanup.forget_unused(at=now + 2 * DAY)
    assert Application.objects.count() == 1

    keys.revoke(second, by=SYSTEM, at=now)
    cleanup.forget_unused(at=now + 2 * DAY)

    assert not Application.objects.exists()
    assert not RefreshToken.objects.exists()
    assert {grant.application for grant in OAuthGrant.objects.all()} == {None}


def test_a_registration_goes_when_its_only_grant_is_over(
    registered: OAuthClient, tokens: dict[str, Any], now: datetime
) -> None:
    cleanup.forget_unused(at=now + 29 * DAY)
    assert Application.objects.count() == 1

    cleanup.forget_unused(at=now + 31 * DAY)

    assert not Application.objects.exists()
    assert OAuthGrant.objects.count() == 1


def test_an_application_of_the_operator_stays(db: None, now: datetime) -> None:
    made = Application.objects.create(
        name="Made by hand",
        client_type=Application.CLIENT_PUBLIC,
        authorization_grant_type=Application.GRANT_AUTHORIZATION_CODE,
        redirect_uris="https://client.example/callback",
    )

    cleanup.forget_unused(at=now + 1_000 * DAY)

    assert Application.objects.get() == made


def test_a_client_without_a_refresh_token_is_disconnected_with_its_token(
    registered: OAuthClient, alice: User, agent: Agent, now: datetime
) -> None:
    registered.tokens(alice, agent, scope="deliver")
    cleanup.forget_unused(at=now + 14 * MINUTE)
    assert OAuthGrant.objects.get().key.revoked_at is None

    cleanup.forget_unused(at=now + 16 * MINUTE)

    assert OAuthGrant.objects.get().key.revoked_at is not None
    event = AuditEvent.objects.get(event="client.ended")
    assert (event.actor_kind, event.detail["agent"]) == ("system", agent.agent_id)


def test_a_client_that_stays_away_for_90_days_is_disconnected(
    registered: OAuthClient, tokens: dict[str, Any], now: datetime
) -> None:
    OAuthGrant.objects.update(ends_at=None)
    long_ago(AccessToken, RefreshToken, days=89)
    cleanup.forget_unused(at=now + DAY)
    assert RefreshToken.objects.count() == 1
    assert OAuthGrant.objects.get().key.revoked_at is None

    long_ago(AccessToken, RefreshToken, days=2)
    cleanup.forget_unused(at=now + DAY)

    assert not RefreshToken.objects.exists()
    assert OAuthGrant.objects.get().key.revoked_at is not None


def test_a_used_refresh_token_is_remembered_until_it_would_have_expired(
    registered: OAuthClient, tokens: dict[str, Any], now: datetime
) -> None:
    """Without the row, a stolen token that comes a second time would end nothing."""
    registered.refresh(tokens["refresh_token"])
    long_ago(RefreshToken, days=80)

    cleanup.forget_unused(at=now)

    assert RefreshToken.objects.filter(revoked__isnull=False).count() == 1


def test_many_rows_take_as_many_statements_as_one(alice: User, agent: Agent, now: datetime) -> None:
    def left_behind(count: int) -> int:
        for number in range(count):
            client = OAuthClient(name=f"Client {number}")
            client.register()
            client.consent(alice, agent)
            client.tokens(alice, agent, scope="deliver")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            cleanup.forget_unused(at=now + 2 * DAY)
        assert not Application.objects.exists()
        return len(queries)

    assert left_behind(1) == left_behind(4)


def test_nothing_to_do_is_nothing_done(db: None, now: datetime) -> None:
    with CaptureQueriesContext(connection) as queries:
        cleanup.forget_unused(at=now)

    assert len(queries) < 20
    assert not [each for each in queries if each["sql"].startswith(("INSERT", "UPDATE"))]
