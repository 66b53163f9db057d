"""A person downloads everything that is stored about them, and no secret."""

from __future__ import annotations

import json
import stat
import uuid
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.utils import timezone

from accounts.audit import person, record_many
from accounts.models import AuditEvent, RecoveryCode, SecondFactor, User
from accounts.people.data import export
from accounts.people.data.export import SECTIONS
from accounts.sign_in.browsers import session_names
from inbox.delivery.discussion.comments import write_comment
from inbox.models import Channel, SavedReply
from tests.accounts.people.data.fields import NOT_DOWNLOADED
from tests.inbox.many import many_like
from tests.inbox.person import Person
from tests.types import Answer, MakeDelivery

DOWNLOAD = "/settings/data/download"


def downloaded(person: Person) -> dict[str, Any]:
    answer: Any = person.client.post(DOWNLOAD)
    assert answer["Content-Disposition"].startswith('attachment; filename="wake-')
    parsed: dict[str, Any] = json.loads(b"".join(answer.streaming_content))
    return parsed


def test_each_model_that_points_to_a_person_is_in_the_download() -> None:
    pointing = {
        model._meta.label
        for model in apps.get_models(include_auto_created=True)
        if any(field.related_model is User for field in model._meta.concrete_fields)
    }
    listed = {section.rows(User(pk=1)).model._meta.label for section in SECTIONS}

    assert pointing - listed == set(NOT_DOWNLOADED)


@pytest.mark.django_db
def test_the_file_has_what_the_person_did_and_set(
    alices: Person, bob: User, alice: User, make_delivery: MakeDelivery, answer: Answer
) -> None:
    now = timezone.now()
    answered, mine = make_delivery(headline="Market report"), make_delivery()
    answer(answered, "redirected", feedback="Shorter: “half”", edited_json='{"a": 1}')
    write_comment(mine, "I look at it.", pk=uuid.uuid4(), by=alice, at=now)
    write_comment(mine, "Bob's own words", pk=uuid.uuid4(), by=bob, at=now)
    SavedReply.objects.create(user=alice, status="rejected", name="Later", text="Not this week.")

    file = downloaded(alices)

    assert file["profile"][0]["email"] == "alice@example.com"
    assert file["teams"][0]["team_slug"] == "garden"
    [given] = file["answers"]
    assert (given["delivery"], given["feedback"]) == (str(answered.pk), "Shorter: “half”")
    assert [each["text"] for each in file["comments"]] == ["I look at it."]
    assert file["saved_replies"] == [
        {"status": "rejected", "name": "Later", "text": "Not this week."}
    ]
    assert len(file["sessions"]) == 1
    assert "delivery.answered" in [event["event"] for event in file["audit"]]
    assert "Bob's own words" not in json.dumps(file)
    assert AuditEvent.objects.filter(event="person.exported", actor_id=str(alice.pk)).exists()


@pytest.mark.django_db
def test_the_file_has_no_secret(alices: Person, alice: User) -> None:
    SecondFactor.objects.create(user=alice, ciphertext="a-ciphertext", last_step=0)
    RecoveryCode.objects.create(user=alice, digest="a-digest")
    Channel.objects.create(
        user=alice,
        kind="webhook",
        name="Chat",
        address="https://hooks.example.com/a-token",
        secret="a-secret",
        created_at=timezone.now(),
    )

    text = json.dumps(downloaded(alices))

    key = alices.client.session.session_key
    hidden = ["a-ciphertext", "a-digest", "a-token", "a-secret", alice.password, key]
    assert [word for word in hidden if word and word in text] == []
    assert "Chat" in text


@pytest.mark.django_db
def test_long_parts_are_read_in_pieces(
    alices: Person, alice: User, make_delivery: MakeDelivery
) -> None:
    count = 2 * export.ROWS_AT_ONCE + 1
    by = person(alice)
    record_many("delivery.answered", by=by, of=many_like(make_delivery(), count), at=timezone.now())

    audit = downloaded(alices)["audit"]
    answered = {each["object_id"] for each in audit if each["event"] == "delivery.answered"}
    assert len(answered) == count


@pytest.mark.django_db
def test_the_password_is_asked_for_first(alices: Person) -> None:
    session = alices.client.session
    session[session_names.PASSWORD] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()

    assert alices.client.post(DOWNLOAD)["Location"].startswith("/sudo/")
    assert alices.get("/settings/data/remove/")["Location"].startswith("/sudo/")


@pytest.mark.django_db
def test_the_command_writes_the_file_for_the_operator(alice: User, tmp_path: Path) -> None:
    path = tmp_path / "alice.json"

    call_command("export_person", "Alice@Example.com ", str(path), stderr=StringIO())

    assert json.loads(path.read_text())["profile"][0]["display_name"] == "alice"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(CommandError):
        call_command("export_person", "alice@example.com", str(path))
    with pytest.raises(CommandError, match="No person has this e-mail"):
        call_command("export_person", "nobody@example.com", str(tmp_path / "b.json"))
