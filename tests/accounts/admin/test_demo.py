"""`manage.py demo` fills an inbox once."""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from datetime import timedelta
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Count
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, ClaimedId, Membership, Team, User
from tests.fixtures.strict_client import Client
from wake.api.serializers import DELIVERY_PAYLOAD
from wake.management import episodes
from wake.models import Callback, CallbackAttempt, Delivery, Response

COUNTED = [Agent, ClaimedId, Delivery, Response, Callback, CallbackAttempt, AuditEvent, User]


def demo(*arguments: str) -> str:
    output = StringIO()
    call_command("demo", *arguments, stdout=output)
    return output.getvalue()


def delivery_bodies() -> list[dict[str, Any]]:
    files = [tomllib.loads(path.read_text()) for path in episodes.FOLDER.glob("*.toml")]
    return [{**one, "agent": file["agent"]} for file in files for one in file["delivery"]]


def delivery(name: str) -> Delivery:
    return Delivery.objects.get(idempotency_key=f"demo-{name}")


def test_it_shows_every_kind_of_delivery_and_of_answer(alice: User) -> None:
    output = demo()

    open_types = Counter(Delivery.objects.awaiting_response().values_list("type", flat=True))
    assert set(open_types) == {"question", "alert", "output", "update"}
    assert set(Response.objects.values_list("status", flat=True)) == {
        "approved",
        "rejected",
        "redirected",
    }
    assert Agent.objects.count() == 6
    assert len(set(Delivery.objects.values_list("provider", flat=True))) == 6
    assert "29 new deliveries are in the inbox of Garden" in output


def test_two_approvals_were_used_with_different_outcomes(client: Client, alice: User) -> None:
    demo()

    assert delivery("rollback-plan-2").outcomes.get().status == "done"
    assert delivery("interview-guide").outcomes.get().status == "failed"
    client.force_login(alice)
    assert "Failed after you approved" in client.get("/").content.decode()


def test_run_twice_it_adds_nothing_twice(alice: User) -> None:
    demo()
    before = [model.objects.count() for model in COUNTED]  # type: ignore[attr-defined]
    output = demo()

    assert [model.objects.count() for model in COUNTED] == before  # type: ignore[attr-defined]
    assert "All demo deliveries are already in the inbox of Garden" in output


def test_run_again_days_later_it_adds_nothing_twice(alice: User) -> None:
    people, team, now = {"owner": alice, "sam": alice}, Team.objects.get(), timezone.now()

    first = episodes.play(team, people=people, by=SYSTEM, at=now - timedelta(days=3))
    second = episodes.play(team, people=people, by=SYSTEM, at=now)

    assert (first, second) == (29, 0)
    assert Delivery.objects.count() == 29


def test_deadlines_are_close_expired_and_answered_late(alice: User) -> None:
    demo()
    now = timezone.now()

    soon, passed, late = map(delivery, ["pricing-options", "travel-heading", "holiday-hours"])
    assert soon.expires_at is not None
    assert timedelta(0) < soon.expires_at - now < timedelta(hours=1)
    assert passed.timed_out_at == passed.expires_at
    assert passed.assumption
    assert not hasattr(passed, "response")
    assert late.response.is_late


def test_it_has_answers_at_every_stage(alice: User) -> None:
    demo()

    def stage(name: str) -> tuple[str, str, bool]:
        answer = delivery(name).response
        return answer.status, answer.picked_up_by, answer.sent_at is not None

    assert stage("interview-guide") == ("approved", "poll", True)
    assert stage("payment-run") == ("rejected", "sweep", True)
    assert stage("release-notes") == ("redirected", "webhook", True)
    assert stage("nine-replies") == ("redirected", "", False)
    assert stage("migration") == ("approved", "", True)
    notes = delivery("release-notes")
    assert notes.response.edited_content["send_newsletter"] is False
    assert notes.details["send_newsletter"] is True
    assert delivery("nine-replies").response.by_name == "sam"


def test_one_question_shows_pictures_to_choose_from(alice: User) -> None:
    demo()
    client = Client()
    client.force_login(alice)

    page = client.get(f"/deliveries/{delivery('about-photo').pk}/").content.decode()

    sources = re.findall(r'<img src="(/deliveries/[^"]+)" alt="[^"]{20,}"', page)
    pictures = [client.get(source) for source in sources]
    assert {picture["Content-Type"] for picture in pictures} == {"image/png"}
    assert len({picture.content for picture in pictures}) == 3


def test_one_callback_failed_four_times_and_waits_for_its_next_try(alice: User) -> None:
    demo()

    failing = Callback.objects.get(response__delivery=delivery("migration"))
    tries = list(failing.attempts.values_list("number", "status_code", "by_name"))
    assert tries == [(1, 503, ""), (2, 503, ""), (3, None, ""), (4, 502, "")]
    assert failing.due_at is not None
    assert failing.due_at > timezone.now()
    assert failing.delivered_at is None
    assert not Callback.objects.due(timezone.now()).exists()


def test_it_shows_a_choice_fields_diffs_and_a_revision_beside_the_edit(
    client: Client, alice: User
) -> None:
    demo()
    client.force_login(alice)

    def page(name: str) -> str:
        return client.get(f"/deliveries/{delivery(name).pk}/").content.decode()

    assert "Send these choices" in page("pricing-options")
    assert "Days to pay" in page("reminder")
    assert "diff__line--added" in page("checkout-test")
    assert "before → after" in page("first-sentence")
    assert "Your edit" in page("release-notes-2")
    pages = [page(name) for name in ("pricing-options", "reminder", "first-sentence")]
    assert not any("could not be displayed" in one for one in pages)


def test_nothing_happened_in_the_future_or_out_of_order(alice: User) -> None:
    demo()
    now = timezone.now()

    assert not Delivery.objects.filter(activity_at__gt=now).exists()
    assert not Response.objects.filter(picked_up_at__gt=now).exists()
    assert not CallbackAttempt.objects.filter(started_at__gt=now).exists()
    for agent in Agent.objects.all():
        told_times = [
            now - episodes.length(one["ago"])
            for one in delivery_bodies()
            if one["agent"] == str(agent)
        ]
        stamps = [row.created_at for row in agent.deliveries.order_by("created_at")]
        for then, stamp in zip(sorted(told_times), stamps, strict=True):
            assert abs(then - stamp) < timedelta(seconds=30)


def test_the_inbox_shows_it_and_none_of_it_acts(client: Client, alice: User) -> None:
    demo()
    client.force_login(alice)

    inbox = client.get("/").content.decode()
    hostile = client.get(f"/deliveries/{delivery('hostile').pk}/").content.decode()

    assert "Market report ready for your review" in inbox
    assert "Rollback plan written for release 2.4" not in inbox
    assert "Test question" not in inbox
    assert "Hostile on purpose" in hostile
    for live in ("<script>document", "<img", 'javascript:alert(1)"', 'onclick="alert', "\u202efdp"):
        assert live not in hostile
    for row in Delivery.objects.all():
        assert client.get(f"/deliveries/{row.pk}/").status_code == 200
    assert client.get("/history/").status_code == 200


@pytest.mark.parametrize("one", delivery_bodies(), ids=lambda one: one["name"])
def test_an_agent_could_have_sent_each_delivery(one: dict[str, Any]) -> None:
    """The rules of the protocol hold for the demo, too: lengths, enums, ranges (docs/protocol.md,
    Errors)."""
    body = {
        "agent_id": one.get("as", one["agent"]),
        "provider": "claude",
        "details": json.loads(one["json"]) if "json" in one else one.get("markdown"),
        "callback_webhook": one.get("webhook"),
        "timeout_seconds": int(episodes.length(one.get("timeout", "")).total_seconds()) or None,
        **{name: one[name] for name in ("type", "headline", "summary")},
        **{name: one.get(name) for name in ("assumption", "on_timeout", "thread")},
    }

    assert DELIVERY_PAYLOAD.run_validation(body)["headline"] == one["headline"]


def test_the_names_of_an_agents_deliveries_are_its_own() -> None:
    names = Counter(one["name"] for one in delivery_bodies())

    assert max(names.values()) == 1


def test_on_an_empty_server_it_makes_the_first_owner_who_can_then_sign_in(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKE_ADMIN_EMAIL", "first@example.com")
    monkeypatch.setenv("WAKE_ADMIN_PASSWORD", "correct horse battery")
    output = demo()

    assert "first@example.com" in output
    assert "correct horse battery" not in output
    assert Client().login(username="first@example.com", password="correct horse battery")
    assert Delivery.objects.count() == 29


def test_an_invalid_address_is_refused_in_a_sentence(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WAKE_ADMIN_EMAIL", "not an address")

    with pytest.raises(CommandError, match="email"):
        demo()


def test_the_demo_reader_answers_nothing(alice: User) -> None:
    sam = User.objects.create_user("sam@example.com")
    Membership.objects.create(team=Team.objects.get(), user=sam, role=Membership.Role.READER)
    demo()

    assert set(Response.objects.values_list("by_name", flat=True)) == {"alice"}


def test_in_production_it_requires_force(alice: User, settings: Any) -> None:
    settings.PRODUCTION = True

    with pytest.raises(CommandError, match="demo --force"):
        demo()
    assert not Delivery.objects.exists()

    demo("--force")
    assert Delivery.objects.count() == 29


def test_it_goes_into_the_team_that_was_named(alice: User, mallory: User) -> None:
    demo("--team", "other")

    teams = Delivery.objects.values_list("team__slug").annotate(count=Count("pk"))
    assert list(teams) == [("other", 29)]
    with pytest.raises(CommandError, match="no team 'nowhere'"):
        demo("--team", "nowhere")


def test_for_a_team_without_an_owner_the_command_says_what_to_do(bob: User) -> None:
    with pytest.raises(CommandError, match="--role owner"):
        demo()
