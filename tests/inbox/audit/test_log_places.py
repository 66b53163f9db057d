"""Mails and pages show the head of the log, so that people can keep it outside the server."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from accounts.audit import SYSTEM, chain, record
from accounts.log import merkle, signed_tree, sweep
from accounts.log.checkpoints import checkpoints
from accounts.models import AuditEvent, AuditTip, LogEntry, Membership, Team, User
from inbox.models import Preferences
from inbox.notifications import digests
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery


@pytest.fixture
def head(team: Team, alice: User) -> str:
    record("team.changed", by=SYSTEM, of=team, team=team)
    sweep.append_new(at=timezone.now())
    return signed_tree.head(signed_tree.stored())


def test_owners_can_ask_for_the_head(alices: Person, second_team: Team, head: str) -> None:
    answer = alices.get("/audit/head.json")

    log = answer.json()["log"]
    assert f"{log['size']}:{log['root']}" == head
    assert log["appended_at"].endswith("Z")
    assert answer.json()["heads"] == []
    assert "no-store" in answer["Cache-Control"]


def test_owners_see_the_tips_of_version_0_2(
    alices: Person, team: Team, second_team: Team, head: str
) -> None:
    for each in (team, second_team):
        AuditTip.objects.create(
            chain=each.pk, position=7, hash="a" * 64, appended_at=timezone.now()
        )

    (one,) = alices.get("/audit/head.json").json()["heads"]

    assert (one["team"], one["position"], one["hash"]) == ("garden", 7, "a" * 64)
    assert one["sealed_at"].endswith("Z")


def test_an_empty_log_has_no_head(alices: Person) -> None:
    assert alices.get("/audit/head.json").json() == {"heads": [], "log": None}
    assert "The log of this server" not in text_of(alices.get("/audit/"))


def test_other_members_cannot(bobs: Person, ritas: Person, head: str) -> None:
    assert bobs.get("/audit/head.json").status_code == 403
    assert ritas.get("/audit/head.json").status_code == 403


def test_the_page_shows_the_head(alices: Person, ritas: Person, head: str) -> None:
    for person in (alices, ritas):
        page = text_of(person.get("/audit/"))
        assert f"has 1 entry ({head[2:10]}…{head[-8:]}, " in page
    assert b"/audit/head.json" not in ritas.get("/audit/").content


def test_an_event_says_where_it_is_in_the_log(alices: Person, team: Team, head: str) -> None:
    logged = AuditEvent.objects.get()
    record("team.changed", by=SYSTEM, of=team, team=team)
    fresh = AuditEvent.objects.latest("pk")

    page = text_of(alices.get(f"/audit/{logged.pk}/"))
    assert "entry 0, number 1 of the team," in page
    assert bytes(LogEntry.objects.get().hash).hex() in page
    assert "within a few seconds" in text_of(alices.get(f"/audit/{fresh.pk}/"))


def test_the_exports_have_the_log_entry_of_each_event(
    alices: Person, team: Team, head: str
) -> None:
    record("team.changed", by=SYSTEM, of=team, team=team)

    lines = alices.get("/audit/export.jsonl").getvalue().decode().splitlines()

    fresh, logged = (json.loads(line) for line in lines)
    entry = LogEntry.objects.get()
    assert (logged["position"], logged["hash"]) == (1, bytes(entry.hash).hex())
    assert logged["log_index"] == 0
    assert (fresh["position"], fresh["hash"], fresh["log_index"]) == (None, None, None)


def test_an_owner_can_compute_the_leaf_hash_from_the_export(
    alices: Person, team: Team, head: str
) -> None:
    (line,) = alices.get("/audit/export.jsonl").getvalue().decode().splitlines()

    row = json.loads(line)
    facts = {
        "kind": "event",
        "number": row["position"],
        "salt": row["log_salt"],
        "sha256": hashlib.sha256(chain.canonical(AuditEvent.objects.get())).hexdigest(),
        "team": team.pk,
    }
    entry = json.dumps(facts, separators=(",", ":")).encode()
    assert merkle.leaf_hash(entry).hex() == row["hash"]
    assert len(base64.urlsafe_b64decode(f"{row['log_salt']}==")) == 16


def test_the_digest_of_an_owner_ends_with_it(
    alice: User, bob: User, head: str, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    for user in (alice, bob):
        Preferences.objects.create(user=user, next_digest_at=timezone.now())

    digests.send_due(clock=timezone.now)

    mails: dict[str, Any] = {one.to[0]: one for one in mail.outbox}
    assert head in mails[alice.email].body
    assert head in mails[alice.email].alternatives[0][0]
    assert head not in mails[bob.email].body
    assert Membership.objects.get(user=bob).role == Membership.Role.REVIEWER


def test_the_page_shows_the_checkpoint_and_the_verifier_key(ritas: Person, head: str) -> None:
    before = text_of(ritas.get("/audit/"))
    checkpoints.make(at=timezone.now())

    page = text_of(ritas.get("/audit/"))

    assert "newest signed checkpoint" not in before
    assert "The newest signed checkpoint covers 1 entry (" in page
    assert f"The verifier key of the log is {checkpoints.verifier_keys()[0]}." in page


def test_the_digest_of_an_owner_has_the_signed_checkpoint(
    alice: User, bob: User, head: str, make_delivery: MakeDelivery
) -> None:
    make_delivery(type="question")
    made = checkpoints.make(at=timezone.now())
    assert made is not None
    for person in (alice, bob):
        Preferences.objects.create(user=person, next_digest_at=timezone.now())

    digests.send_due()

    letters = {letter.to[0]: letter for letter in mail.outbox}
    assert made.note in str(letters[alice.email].body)
    html = str(letters[alice.email].alternatives[0][0])  # type: ignore[attr-defined]
    assert made.note.splitlines()[-1] in html
    assert "signed" not in str(letters[bob.email].body)
