"""The admin's forms manage people, teams and the hosts of their callbacks."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import Permission
from django.urls import reverse

from accounts.models import Agent, AuditEvent, Membership, Team, User
from tests.fixtures.strict_client import Client
from tests.types import MakeDelivery
from wake.models import CallbackHost


def events() -> list[tuple[str, str, int | None]]:
    """Returns what people did, as (event, who, team)."""
    return [
        (event.event, event.actor_name, event.team_id)
        for event in AuditEvent.objects.filter(actor_kind="person").order_by("pk")
    ]


def formset(prefix: str, *rows: dict[str, Any], initial: int = 0) -> dict[str, str]:
    form = {f"{prefix}-TOTAL_FORMS": str(len(rows)), f"{prefix}-INITIAL_FORMS": str(initial)}
    for number, row in enumerate(rows):
        form |= {f"{prefix}-{number}-{name}": str(value) for name, value in row.items()}
    return form


def team_form(team: Team, *, members: Any = None, hosts: Any = None) -> dict[str, str]:
    return {
        "name": team.name,
        "slug": team.slug,
        **(members or formset("memberships")),
        **(hosts or formset("callback_hosts")),
    }


def test_a_person_is_added_by_e_mail_and_can_sign_in(operator: Client) -> None:
    answer = operator.post(
        reverse("admin:accounts_user_add"),
        {
            "email": "Nora@Example.com",
            "display_name": "",
            "password1": "correct horse battery",
            "password2": "correct horse battery",
        },
    )

    nora = User.objects.get(email="nora@example.com")
    assert answer["Location"] == reverse("admin:accounts_user_change", args=[nora.pk])
    assert nora.display_name == "nora"
    assert not nora.is_staff
    assert Client().login(username="nora@example.com", password="correct horse battery")
    assert events() == [("person.added", "olga", None)]


def test_a_person_is_shown_by_the_name_that_was_given(operator: Client) -> None:
    operator.post(
        reverse("admin:accounts_user_add"),
        {
            "email": "nora@example.com",
            "display_name": "Nora Lindqvist",
            "password1": "correct horse battery",
            "password2": "correct horse battery",
        },
    )

    assert User.objects.get(email="nora@example.com").display_name == "Nora Lindqvist"


def test_two_people_never_share_an_address_in_any_case(operator: Client, alice: User) -> None:
    answer = operator.post(
        reverse("admin:accounts_user_add"),
        {
            "email": "ALICE@example.com",
            "password1": "correct horse battery",
            "password2": "correct horse battery",
        },
    )

    assert answer.status_code == 200
    assert "already exists" in answer.content.decode()
    assert User.objects.filter(email__iexact="alice@example.com").count() == 1


def person_form(person: User, **changed: str) -> dict[str, str]:
    return {
        "email": person.email,
        "display_name": person.display_name,
        "time_zone": person.time_zone,
        "is_active": "on",
        **formset("memberships"),
        **changed,
    }


def test_a_change_of_permissions_is_audited_with_its_new_value(
    operator: Client, alice: User
) -> None:
    form = person_form(alice, is_staff="on")
    operator.post(reverse("admin:accounts_user_change", args=[alice.pk]), form)

    event = AuditEvent.objects.get(event="person.changed")
    assert (event.object_name, event.detail) == ("alice", {"is_staff": True})


def test_granted_permissions_are_named_in_the_audit(operator: Client, alice: User) -> None:
    right = Permission.objects.get(codename="view_agent")
    form = person_form(alice, user_permissions=str(right.pk))
    operator.post(reverse("admin:accounts_user_change", args=[alice.pk]), form)

    event = AuditEvent.objects.get(event="person.changed")
    assert event.detail == {"user_permissions": [str(right)]}


def test_a_time_zone_that_does_not_exist_is_refused(operator: Client, alice: User) -> None:
    form = person_form(alice, time_zone="Europe/Atlantis")
    answer = operator.post(reverse("admin:accounts_user_change", args=[alice.pk]), form)

    assert "Unknown time zone" in answer.content.decode()
    alice.refresh_from_db()
    assert alice.time_zone == "UTC"


def test_a_password_is_set_and_audited_without_itself(operator: Client, alice: User) -> None:
    answer = operator.post(
        reverse("admin:auth_user_password_change", args=[alice.pk]),
        {
            "password1": "a new pair of words",
            "password2": "a new pair of words",
            "set-password": "1",
        },
    )

    assert answer.status_code == 302
    assert Client().login(username=alice.email, password="a new pair of words")
    event = AuditEvent.objects.get(event="person.password_set")
    assert (event.object_name, event.actor_name, event.detail) == ("alice", "olga", {})


def test_a_password_that_is_refused_is_not_audited(operator: Client, alice: User) -> None:
    operator.post(
        reverse("admin:auth_user_password_change", args=[alice.pk]),
        {"password1": "short", "password2": "short", "set-password": "1"},
    )

    assert not AuditEvent.objects.filter(event="person.password_set").exists()


def test_adding_changing_and_removing_a_member_records_an_event_each(
    operator: Client, team: Team, alice: User, mallory: User
) -> None:
    change = reverse("admin:accounts_team_change", args=[team.pk])
    alices = Membership.objects.get(user=alice)

    rows = formset("memberships", {"user": mallory.pk, "role": "reader"})
    operator.post(change, team_form(team, members=rows))
    new = Membership.objects.get(team=team, user=mallory)
    rows = formset(
        "memberships",
        {"id": alices.pk, "user": alice.pk, "role": "owner", "DELETE": "on"},
        {"id": new.pk, "user": mallory.pk, "role": "owner"},
        initial=2,
    )
    operator.post(change, team_form(team, members=rows))

    assert [(m.user, m.role) for m in team.memberships.all()] == [(mallory, "owner")]
    assert events() == [
        ("membership.added", "olga", team.pk),
        ("membership.removed", "olga", team.pk),
        ("membership.changed", "olga", team.pk),
    ]
    names = AuditEvent.objects.order_by("pk").values_list("object_name", flat=True)
    assert list(names) == [
        "mallory in Garden (reader)",
        "alice in Garden (owner)",
        "mallory in Garden (owner)",
    ]
    assert AuditEvent.objects.get(event="membership.removed").object_id == str(alices.pk)


def test_a_host_is_stored_in_canonical_form(operator: Client, team: Team) -> None:
    change = reverse("admin:accounts_team_change", args=[team.pk])
    rows = formset("callback_hosts", {"pattern": " Hooks.Example.COM.:443 "})
    answer = operator.post(change, team_form(team, hosts=rows))

    assert answer.status_code == 302
    assert CallbackHost.objects.get().pattern == "hooks.example.com"
    assert events() == [("callback_host.allowed", "olga", team.pk)]


def test_an_invalid_host_is_refused_with_the_reason(operator: Client, team: Team) -> None:
    change = reverse("admin:accounts_team_change", args=[team.pk])
    for pattern in ("https://hooks.example.com/x", "10.0.0.1", "*.com", "host:99999"):
        rows = formset("callback_hosts", {"pattern": pattern})
        answer = operator.post(change, team_form(team, hosts=rows))

        assert answer.status_code == 200
        assert 'class="errorlist"' in answer.content.decode()
    assert not CallbackHost.objects.exists()


def test_the_same_host_twice_is_refused_however_it_is_written(operator: Client, team: Team) -> None:
    CallbackHost.objects.create(team=team, pattern="hooks.example.com")
    host = CallbackHost.objects.get()
    change = reverse("admin:accounts_team_change", args=[team.pk])
    rows = formset(
        "callback_hosts",
        {"id": host.pk, "pattern": host.pattern},
        {"pattern": "HOOKS.example.com"},
        initial=1,
    )
    answer = operator.post(change, team_form(team, hosts=rows))

    assert answer.status_code == 200
    assert CallbackHost.objects.count() == 1


def test_creating_renaming_and_deleting_a_team_records_an_event_each(operator: Client) -> None:
    team = Team(name="Orchard", slug="orchard")
    operator.post(reverse("admin:accounts_team_add"), team_form(team))
    orchard = Team.objects.get(slug="orchard")
    orchard.name = "Old orchard"
    operator.post(reverse("admin:accounts_team_change", args=[orchard.pk]), team_form(orchard))
    operator.post(reverse("admin:accounts_team_delete", args=[orchard.pk]), {"post": "yes"})

    assert not Team.objects.filter(slug="orchard").exists()
    assert events() == [
        ("team.added", "olga", orchard.pk),
        ("team.changed", "olga", orchard.pk),
        ("team.removed", "olga", orchard.pk),
    ]


def test_an_agent_with_deliveries_cannot_be_deleted_and_the_page_says_why(
    operator: Client, agent: Agent, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    delete = reverse("admin:accounts_agent_delete", args=[agent.pk])

    for answer in (
        operator.get(delete, follow=True),
        operator.post(delete, follow=True, by_hand=True),
    ):
        assert answer.redirect_chain
        assert "“research-agent-01” cannot be deleted: it has deliveries" in answer.content.decode()
    assert Agent.objects.filter(pk=agent.pk).exists()


def test_an_agent_without_deliveries_is_deleted_with_its_keys(
    operator: Client, agent: Agent, key: Any
) -> None:
    delete = reverse("admin:accounts_agent_delete", args=[agent.pk])
    asked = operator.get(delete).content.decode()
    operator.post(delete, {"post": "yes"})

    assert "Are you sure" in asked
    assert not Agent.objects.exists()
    assert events() == [("agent.removed", "olga", agent.team_id)]


def test_a_team_with_agents_cannot_be_deleted(operator: Client, team: Team, agent: Agent) -> None:
    delete = reverse("admin:accounts_team_delete", args=[team.pk])
    answer = operator.post(delete, {"post": "yes"}, follow=True, by_hand=True)

    assert "“Garden” cannot be deleted: it has agents" in answer.content.decode()
    assert Team.objects.filter(pk=team.pk).exists()


def test_deleting_a_person_keeps_their_history(operator: Client, alice: User, team: Team) -> None:
    operator.post(reverse("admin:accounts_user_delete", args=[alice.pk]), {"post": "yes"})

    assert not User.objects.filter(pk=alice.pk).exists()
    [event] = AuditEvent.objects.all()
    assert (event.event, event.object_name) == ("person.removed", "alice")
