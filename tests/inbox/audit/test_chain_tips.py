"""Mails and pages show the tip of the audit chain, so that people can keep it outside the
server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from accounts.audit import SYSTEM, chain, record
from accounts.models import AuditEvent, AuditTip, Membership, Team, User
from inbox.models import Preferences
from inbox.notifications import digests
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery


@pytest.fixture
def head(team: Team, alice: User) -> AuditTip:
    record("team.changed", by=SYSTEM, of=team, team=team)
    chain.append_new(at=timezone.now())
    return AuditTip.objects.get(chain=team.pk)


def test_owners_can_ask_for_the_tip(alices: Person, second_team: Team, head: AuditTip) -> None:
    record("team.changed", by=SYSTEM, of=second_team, team=second_team)
    chain.append_new(at=timezone.now())

    answer = alices.get("/audit/head.json")

    (one,) = answer.json()["heads"]
    assert (one["team"], one["position"], one["hash"]) == ("garden", 1, head.hash)
    assert one["sealed_at"].endswith("Z")
    assert "no-store" in answer["Cache-Control"]


def test_other_members_cannot(bobs: Person, ritas: Person, head: AuditTip) -> None:
    assert bobs.get("/audit/head.json").status_code == 403
    assert ritas.get("/audit/head.json").status_code == 403


def test_the_page_shows_the_tip_of_the_chain(alices: Person, ritas: Person, head: AuditTip) -> None:
    for person in (alices, ritas):
        page = text_of(person.get("/audit/"))
        assert f"1 event in the audit chain ({head.hash[:8]}…{head.hash[-8:]}, " in page
    assert b"/audit/head.json" not in ritas.get("/audit/").content


def test_an_event_says_where_it_is_in_the_chain(alices: Person, team: Team, head: AuditTip) -> None:
    chained = AuditEvent.objects.get()
    record("team.changed", by=SYSTEM, of=team, team=team)
    fresh = AuditEvent.objects.latest("pk")

    assert "position 1" in text_of(alices.get(f"/audit/{chained.pk}/"))
    assert head.hash in text_of(alices.get(f"/audit/{chained.pk}/"))
    assert "within a few seconds" in text_of(alices.get(f"/audit/{fresh.pk}/"))


def test_the_exports_have_the_chain_entry_of_each_event(
    alices: Person, team: Team, head: AuditTip
) -> None:
    record("team.changed", by=SYSTEM, of=team, team=team)

    lines = alices.get("/audit/export.jsonl").getvalue().decode().splitlines()

    fresh, chained = (json.loads(line) for line in lines)
    assert (chained["position"], chained["hash"]) == (1, head.hash)
    assert (fresh["position"], fresh["hash"]) == (None, None)


def test_the_digest_of_an_owner_ends_with_it(
    alice: User, bob: User, head: AuditTip, make_delivery: MakeDelivery
) -> None:
    make_delivery()
    for user in (alice, bob):
        Preferences.objects.create(user=user, next_digest_at=timezone.now())

    digests.send_due(clock=timezone.now)

    mails: dict[str, Any] = {one.to[0]: one for one in mail.outbox}
    assert f"Garden 1:{head.hash}" in mails[alice.email].body
    assert f"Garden 1:{head.hash}" in mails[alice.email].alternatives[0][0]
    assert head.hash not in mails[bob.email].body
    assert Membership.objects.get(user=bob).role == Membership.Role.REVIEWER
