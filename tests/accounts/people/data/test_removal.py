"""When a person's account is removed, the person's decisions are kept and the name is removed."""

from __future__ import annotations

import json
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from threading import Event
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connection, models, transaction
from django.utils import timezone

from accounts.access import invitations
from accounts.agents import gates, keys
from accounts.audit import person
from accounts.models import (
    Agent,
    AuditEvent,
    Invitation,
    Membership,
    Passkey,
    ResetRequest,
    Session,
    Team,
    User,
)
from accounts.people import leaving
from accounts.people.data import removal
from inbox.delivery.discussion.comments import write_comment
from inbox.models import Channel, Comment, Notification, SavedReply
from inbox.notifications.channels import recording, sending
from tests.accounts.people.data.fields import KEPT, REMOVED, REPLACED
from tests.fixtures import wrapped
from tests.fixtures.answering_rules import answering_terms
from tests.inbox.notifications.channels import conftest as channels
from tests.inbox.notifications.channels.conftest import MakeChannel
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery, MakeRule
from tests.wake.callbacks.receiver import Receiver
from tests.wake.retention.stored import tables_with
from wake.acknowledgements import acknowledge
from wake.answering import rules as answering_rules
from wake.models import Delivery, Draft, Response, Vote
from wake.responses import release_due, respond

make_channel, inbox_of_chat = channels.make_channel, channels.inbox_of_chat
REMOVE = "/settings/data/remove/"


@pytest.fixture
def nadia(team: Team) -> User:
    """Creates a person with Alice as the other owner of the team. The person's name and address
    occur nowhere else."""
    user = User.objects.create_user("nadia@quartz.example", "a long pass phrase")
    user.display_name = "Nadia Quartz"
    user.save()
    Membership.objects.create(team=team, user=user, role=Membership.Role.OWNER)
    return user


def removed(user: User) -> str:
    return removal.remove(user, by=person(user), at=timezone.now())


def test_each_column_that_may_name_a_person_is_listed_once() -> None:
    listed: Counter[str] = Counter()
    for columns in (REMOVED, REPLACED, *KEPT.values()):
        listed.update(f"{label}.{name}" for label in columns for name in columns[label].split())
    texts = (
        *(models.CharField, models.TextField, models.JSONField),
        *(models.GenericIPAddressField, models.BinaryField),
    )

    found = Counter(
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models(include_auto_created=True)
        for field in model._meta.concrete_fields
        if field.related_model is User or (isinstance(field, texts) and not field.choices)
    )

    assert listed == found


def test_a_gate_key_names_the_number_of_the_person_who_issued_it(
    nadia: User, alice: User, team: Team, agent: Agent
) -> None:
    gate, _ = gates.issue(team, name="Deploys", agents=[agent], by=person(nadia), at=timezone.now())

    name = removed(nadia)

    gate.refresh_from_db()
    assert gate.issued_by == name


def test_the_name_and_the_address_are_in_the_audit_alone(
    nadia: User,
    alice: User,
    bob: User,
    team: Team,
    make_delivery: MakeDelivery,
    make_rule: MakeRule,
    answer: Answer,
) -> None:
    now, by = timezone.now(), person(nadia)
    answer(make_delivery(), "rejected", by=nadia, feedback="Too early.")
    acknowledge([make_delivery(type="update").pk], by=nadia, at=now)
    together = make_delivery(quorum=2)
    for each in (nadia, alice):
        given: Any = {"status": "approved", "content_hash": together.content_hash, "at": now}
        respond(together, by=each, feedback="Fine.", **given)
    talked_about = make_delivery()
    for each, text in ((nadia, "I look."), (alice, "Thanks, @Nadia and @nadia quartz!")):
        write_comment(talked_about, text, pk=uuid.uuid4(), by=each, at=now)
    make_rule(people=[nadia])
    make_delivery()
    rule = answering_rules.add(team, "Small", answering_terms(), by=by, at=now)
    answering_rules.turn_on(rule, version=1, reason="Tried by hand.", by=by, at=now)
    keys.mint(make_delivery().agent, mode="live", by=by)
    invitations.invite(team, role="reader", by=alice, at=now, email=nadia.email)
    ResetRequest.objects.create(email=nadia.email, asked_at=now, due_at=now)
    SavedReply.objects.create(user=nadia, status="rejected", name="Later", text="Quartz")
    Draft.objects.create(delivery=talked_about, user=nadia, feedback="Quartz")
    Passkey.objects.create(user=nadia, name="Quartz phone", credential_id=b"1", public_key=b"2")
    Person(nadia)
    number = f"Person {nadia.pk}"

    assert removed(nadia) == number

    assert tables_with("Quartz") | tables_with("quartz") == {"accounts_auditevent"}
    assert tables_with("nadia@") <= {"accounts_auditevent"}
    assert not User.objects.filter(pk=nadia.pk).exists()
    assert not Session.objects.filter(user=nadia.pk).exists()
    answers = Response.objects.filter(by_name=number).values_list("status", "feedback")
    assert list(answers) == [("rejected", "Too early.")]
    decided = json.loads(Response.objects.get(delivery=together).quorum_json)["decisions"]
    assert [each["by"] for each in decided] == [number, "alice"]
    assert Vote.objects.get(name=number).feedback == "Fine."
    texts = Comment.objects.order_by("written_at", "pk").values_list("author_name", "text")
    assert set(texts) == {
        (number, "I look."),
        ("alice", f"Thanks, @{number} and @{number}!"),
    }
    assert Delivery.objects.filter(acknowledged_by=number).count() == 1
    assert Invitation.objects.get().email == ""
    assert not Invitation.objects.open(now).exists()
    event = AuditEvent.objects.get(event="person.removed")
    assert (event.actor_name, event.object_id) == ("Nadia Quartz", str(nadia.pk))


def test_a_name_that_another_person_has_stays_where_only_the_name_is_stored(
    nadia: User, bob: User, make_delivery: MakeDelivery, answer: Answer
) -> None:
    User.objects.filter(pk=bob.pk).update(display_name="Nadia Quartz")
    bob.refresh_from_db()
    now = timezone.now()
    by_nadia, by_bob = make_delivery(), make_delivery()
    answer(by_nadia, by=nadia)
    answer(by_bob, by=bob)
    update = make_delivery(type="update")
    acknowledge([update.pk], by=bob, at=now)

    number = removed(nadia)

    assert Response.objects.get(delivery=by_nadia).by_name == number
    assert Response.objects.get(delivery=by_bob).by_name == "Nadia Quartz"
    update.refresh_from_db()
    assert update.acknowledged_by == "Nadia Quartz"


def test_an_earlier_name_is_replaced_too(
    nadia: User, alice: User, make_delivery: MakeDelivery, answer: Answer
) -> None:
    answered, seen = make_delivery(), make_delivery(type="update")
    answer(answered, by=nadia)
    acknowledge([seen.pk], by=nadia, at=timezone.now())
    User.objects.filter(pk=nadia.pk).update(display_name="Nadia Flint")

    removed(nadia)

    assert tables_with("Nadia") == {"accounts_auditevent"}


def test_a_held_answer_is_sent_under_the_number(
    nadia: User, alice: User, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery, "approved", by=nadia, held=True)

    number = removed(nadia)

    assert release_due(at=timezone.now() + timedelta(minutes=1)) == 1
    delivery.refresh_from_db()
    assert (delivery.status, delivery.response.by_name) == ("approved", number)


def test_the_only_owner_hands_the_team_over_first(alices: Person, alice: User, bob: User) -> None:
    page = alices.client.post(REMOVE)

    assert page.status_code == 409
    assert "Garden: a team needs an owner who can sign in." in text_of(page)
    assert User.objects.filter(pk=alice.pk).exists()
    with pytest.raises(leaving.OwnsAlone, match="Garden"):
        removed(alice)
    assert not AuditEvent.objects.filter(event="membership.left").exists()

    Membership.objects.filter(user=bob).update(role=Membership.Role.OWNER)
    done = alices.client.post(REMOVE, follow=True)
    assert "Your account was removed." in text_of(done)
    assert alices.get("/settings/")["Location"].startswith("/login/")
    assert not User.objects.filter(pk=alice.pk).exists()


def test_the_page_says_what_goes_and_what_stays(bobs: Person, bob: User) -> None:
    text = text_of(bobs.get(REMOVE))

    assert f"Kept, under the name “Person {bob.pk}”" in text
    assert "bob@example.com" in text
    assert "The audit log. It proves who decided what" in text
    assert User.objects.filter(pk=bob.pk).exists()


def test_the_operator_removes_a_person_who_cannot_sign_in(
    nadia: User, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("builtins.input", lambda _: "")  # the operator only presses Enter
    with pytest.raises(CommandError, match="Nothing was removed"):
        call_command("remove_person", nadia.email)

    out = StringIO()
    call_command("remove_person", nadia.email, "--yes", stdout=out)

    assert f"Person {nadia.pk}" in out.getvalue()
    event = AuditEvent.objects.get(event="person.removed")
    assert event.actor_kind != "person"
    with pytest.raises(CommandError, match="No person has this e-mail"):
        call_command("remove_person", nadia.email, "--yes")


def test_a_message_to_a_channel_that_is_removed_meanwhile(
    nadia: User,
    alice: User,
    make_channel: MakeChannel,
    make_delivery: MakeDelivery,
    inbox_of_chat: Receiver,
) -> None:
    now = timezone.now()
    make_channel(nadia, at=now - timedelta(hours=1))
    make_delivery(at=now)
    recording.record_new(at=now + timedelta(seconds=1))
    assert Notification.objects.exists()

    with wrapped.before(sending, "exchange", lambda: removed(nadia)):
        assert sending.send_due(clock=lambda: now + timedelta(minutes=2)) == 0

    assert not Channel.objects.exists()
    assert not Notification.objects.exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has one writer at a time")
def test_an_answer_that_is_stored_meanwhile_keeps_no_name(
    nadia: User,
    alice: User,
    make_delivery: MakeDelivery,
    answer: Answer,
) -> None:
    """The answer was inserted before the removal and is committed after the names were replaced."""
    delivery, is_stored, may_commit = make_delivery(), Event(), Event()

    def answer_slowly() -> None:
        try:
            with transaction.atomic():
                answer(delivery, "approved", by=nadia, held=True)
                is_stored.set()
                assert may_commit.wait(30)
        finally:
            connection.close()

    with ThreadPoolExecutor() as pool:
        answering = pool.submit(answer_slowly)
        assert is_stored.wait(30)

        def commit() -> None:
            may_commit.set()
            with pytest.raises(TimeoutError):
                answering.result(0.3)

        with wrapped.before(leaving, "delete_account", commit):
            removed(nadia)
        failure = answering.exception(30)

    assert isinstance(failure, IntegrityError)
    assert not User.objects.filter(pk=nadia.pk).exists()
    assert not Response.objects.exists()
