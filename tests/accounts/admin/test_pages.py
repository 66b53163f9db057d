"""Every page of the admin answers in few queries and shows no secret."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.contrib import admin
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.agents import gates, keys, registration, signing_secrets
from accounts.audit import SYSTEM
from accounts.models import (
    Agent,
    ApiKey,
    AuditEvent,
    ClaimedId,
    DirectoryAccount,
    DirectoryGroup,
    Gate,
    OAuthGrant,
    Passkey,
    SigningSecret,
    Team,
    User,
)
from relay.cards import callers
from relay.cards.publishing import publish
from relay.models import CallerKey, Card
from tests.fixtures.clients import connected
from tests.fixtures.strict_client import Client
from tests.types import Answer, MakeDelivery
from wake.blobs.uploads import upload
from wake.models import (
    Callback,
    CallbackAttempt,
    CallbackHost,
    Delivery,
    Response,
    UploadedBlob,
)

Filled = Callable[..., None]
MODELS = sorted(admin.site._registry, key=lambda model: model.__name__)
READ_ONLY = [
    ApiKey,
    AuditEvent,
    Callback,
    CallbackAttempt,
    CallerKey,
    Card,
    Delivery,
    DirectoryAccount,
    DirectoryGroup,
    Gate,
    OAuthGrant,
    Passkey,
    Response,
    UploadedBlob,
]
NO_RESULTS = re.compile(rb"\b0 results")
CONTENT = "ripe-for-the-inbox-only"


def page(model: Any, name: str, *args: Any) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{name}", args=args)


@pytest.fixture
def fill(team: Team, alice: User, bob: User, answer: Answer) -> Callable[[int], None]:
    """Creates this many agents, each with two keys, a secret and an answered delivery that is
    called back."""
    from wake.deliveries import deliver

    CallbackHost.objects.create(team=team, pattern="hooks.example.com")

    def some(count: int) -> None:
        for _ in range(count):
            agent = Agent(team=team, agent_id=f"agent-{Agent.objects.count()}")
            registration.register(agent, by=SYSTEM)
            ClaimedId.objects.create(agent=agent, pattern="team-a/*")
            key, _text = keys.mint(agent, by=SYSTEM)
            caller, _text = callers.mint(team, name="Some caller", by=SYSTEM)
            gates.issue(team, name="Some gate", agents=[agent], by=SYSTEM, at=timezone.now())
            publish(agent, by=SYSTEM, at=timezone.now(), callers=[caller])
            connected(agent, alice, name="Some chat")
            keys.rotate(key, by=SYSTEM, overlap=timedelta(hours=1), at=timezone.now())
            delivery = deliver(
                agent,
                agent_id=agent.agent_id,
                provider="claude",
                type="output",
                headline="Report ready",
                summary="Compared ten.",
                details_json=f'"{CONTENT}"',
                callback_webhook=f"https://hooks.example.com/{CONTENT}",
                at=timezone.now(),
            ).delivery
            answer(delivery, "redirected", feedback=CONTENT)
            credential_id = agent.agent_id.encode()
            Passkey.objects.create(
                user=alice, name="A phone", credential_id=credential_id, public_key=b"k"
            )
            account = DirectoryAccount.objects.create(
                user_name=agent.agent_id, user_key=agent.agent_id
            )
            DirectoryGroup.objects.create(display_name="A group").members.add(account)
            upload(key, CONTENT.encode(), content_type="text/plain", at=timezone.now())
            CallbackAttempt.objects.create(
                callback=Callback.objects.get(agent=agent),
                number=1,
                started_at=timezone.now(),
                took_ms=12,
                status_code=500,
                answer=CONTENT,
            )

    return some


def every_page(operator: Client) -> dict[str, bytes]:
    """Returns the bytes of each page: the index and the apps' pages, and the lists, change, history
    and delete pages."""
    urls = ["/admin/", "/admin/accounts/", "/admin/wake/"]
    for model in MODELS:
        urls += [page(model, "changelist"), page(model, "changelist") + "?q=a"]
        for row in model._base_manager.all()[:2]:
            urls += [page(model, "change", row.pk), page(model, "history", row.pk)]
            if model not in READ_ONLY:
                urls += [page(model, "add"), page(model, "delete", row.pk)]
    for user in User.objects.all():
        urls.append(reverse("admin:auth_user_password_change", args=[user.pk]))
    pages = {}
    for url in urls:
        answer = operator.get(url, follow=True)
        assert answer.status_code == 200, url
        pages[url] = answer.content
    return pages


def test_every_list_and_every_page_answers(operator: Client, fill: Filled) -> None:
    fill(2)
    pages = every_page(operator)

    assert {model.__name__ for model in MODELS} >= {model.__name__ for model in READ_ONLY}
    assert [url for url, content in pages.items() if NO_RESULTS.search(content)] == []
    assert len(pages) > 5 * len(MODELS)


def test_no_page_shows_a_secret_a_hash_or_content(operator: Client, fill: Filled) -> None:
    fill(2)
    agent = Agent.objects.first()
    assert agent
    operator.post(
        reverse("admin:accounts_agent_rotate_secret", args=[agent.pk]), {"version": "2-1"}
    )
    secrets = [text for one in Agent.objects.all() for text in signing_secrets.secrets_of(one.pk)]
    assert len(secrets) == 3
    hidden = [
        CONTENT,
        *secrets,
        *ApiKey.objects.values_list("digest", flat=True),
        *CallerKey.objects.values_list("digest", flat=True),
        *Gate.objects.values_list("digest", flat=True),
        *SigningSecret.objects.values_list("ciphertext", flat=True),
        *(user.password.rsplit("$", 1)[-1] for user in User.objects.all()),
        *(user.password.rsplit("$", 1)[-1][:6] for user in User.objects.all()),
    ]

    for url, content in every_page(operator).items():
        for text in hidden:
            assert text.encode() not in content, url
            assert text.encode().hex().encode() not in content, url


def test_a_list_takes_as_many_queries_for_twenty_rows_as_for_two(
    operator: Client, fill: Filled, subtests: pytest.Subtests
) -> None:
    def queries(model: Any) -> int:
        with CaptureQueriesContext(connection) as captured:
            assert operator.get(page(model, "changelist")).status_code == 200
        return len(captured)

    fill(2)
    operator.get(page(MODELS[0], "changelist"))
    before = {model: queries(model) for model in MODELS}
    fill(18)

    for model in MODELS:
        with subtests.test(model.__name__):
            assert queries(model) == before[model] <= 8


@pytest.mark.parametrize(
    "model",
    # The admin can remove passkeys, and add gates.
    [model for model in READ_ONLY if model not in (Passkey, Gate)],
    ids=lambda model: model.__name__,
)
def test_history_can_be_read_and_not_changed(operator: Client, fill: Filled, model: Any) -> None:
    fill(1)
    row = model.objects.first()

    looked = operator.get(page(model, "change", row.pk)).content.decode()
    changed = operator.post(page(model, "change", row.pk), {"headline": "Nothing to see"})
    removed = operator.post(page(model, "delete", row.pk), {"post": "yes"})
    by_action = operator.post(
        page(model, "changelist"), {"action": "delete_selected", "_selected_action": [row.pk]}
    )

    assert 'name="_save"' not in looked
    assert changed.status_code == removed.status_code == 403
    assert operator.get(page(model, "add")).status_code == 403
    assert "Are you sure" not in by_action.content.decode()
    assert model.objects.get(pk=row.pk) == row


@pytest.mark.parametrize(
    ("model", "guess"),
    [
        (ApiKey, "digest__startswith=a"),
        (Delivery, "details_json__contains=a"),
        (Delivery, "agent__keys__digest__startswith=a"),
        (Callback, "response__feedback__contains=a"),
        (User, "password__startswith=m"),
        (Agent, "keys__digest__startswith=a"),
        (Agent, "signing_secrets__ciphertext__startswith=g"),
    ],
)
def test_no_filter_in_the_url_reveals_a_hidden_field(
    operator: Client, fill: Filled, model: Any, guess: str
) -> None:
    fill(1)

    assert operator.get(f"{page(model, 'changelist')}?{guess}").status_code == 400


def test_filters_and_search_return_matching_rows(operator: Client, fill: Filled) -> None:
    fill(2)
    delivery = Delivery.objects.first()
    assert delivery

    def number_of_rows(model: Any, query: str) -> int:
        answer = operator.get(f"{page(model, 'changelist')}?{query}")
        return int(answer.context["cl"].result_count)

    assert number_of_rows(Delivery, f"q={delivery.pk}") == 1
    assert number_of_rows(Delivery, "q=not-a-uuid") == 0
    assert number_of_rows(Delivery, "type__exact=alert") == 0
    assert number_of_rows(Response, f"q={delivery.pk}") == 1
    assert number_of_rows(Callback, f"q={delivery.pk}") == 1
    assert number_of_rows(Callback, "delivered_at__isempty=1") == 2
    assert number_of_rows(AuditEvent, "event=key.rotated") == 2
    assert number_of_rows(AuditEvent, "q=agent-1") > 0
    assert number_of_rows(ApiKey, "q=agent-1") == 2
    assert number_of_rows(ApiKey, "mode__exact=test") == 0
    assert number_of_rows(Agent, "q=agent-1") == 1


def test_a_headline_with_markup_or_bidi_characters_is_inert(
    operator: Client, make_delivery: MakeDelivery
) -> None:
    make_delivery(headline="<script>alert(1)</script>\u202egnp.exe")
    listed = operator.get(page(Delivery, "changelist")).content.decode()

    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;\u202egnp.exe</bdi>" in listed
    assert "<script>alert" not in listed


def test_the_admin_keeps_the_content_policy_but_for_trusted_types(operator: Client) -> None:
    policy = operator.get("/admin/")["Content-Security-Policy"]

    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "trusted-types" not in policy
