"""An evidence export has everything about an agent's deliveries, and names what is missing."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest

from accounts.agents import gates
from accounts.audit import SYSTEM, person
from accounts.models import Agent, ApiKey, AuditEvent, Team, User
from accounts.people.data import removal
from database.clock import database_now
from inbox.audit.evidence import missing
from inbox.models import Comment
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.answering_rules import run_rules
from tests.inbox.audit.evidence.opened import Opened, evidence_of, files_of, today
from tests.types import Age, Answer, MakeAnsweringRule, MakeDelivery, MakeRule
from tests.wake.claims.test_claims import Question
from wake import outcomes, retention
from wake.models import Delivery, Retention
from wake.responses import release_due, respond
from wake_client.proof.receipts import check_answer, check_content, verified

pytestmark = pytest.mark.django_db


def test_a_record_says_what_was_asked_and_who_decided_and_what_came_of_it(
    refund: Question, agent: Agent, alice: User
) -> None:
    record = evidence_of(agent).record(refund.pk)

    assert record["content"]["headline"] == "Refund EUR 180"
    assert record["content"]["details"] == '{"amount": 180}'
    assert record["digest_matches_content"] is True
    answer = record["answer"]
    assert (answer["status"], answer["person_id"], answer["name"]) == (
        "approved",
        str(alice.pk),
        "alice",
    )
    assert (answer["role"], answer["via"], answer["amr"]) == ("owner", "page", ["pwd", "otp"])
    assert answer["feedback"] == "Only today."
    assert record["claim"]["claimed_by"] == "the agent"
    assert [(each["status"], each["summary"]) for each in record["outcomes"]] == [
        ("failed", "declined")
    ]
    assert record["missing"] == []


def test_the_receipt_content_and_answer_verify_offline(refund: Question, agent: Agent) -> None:
    opened, folder = evidence_of(agent), f"deliveries/{refund.pk}"

    claims = verified(opened.text(f"{folder}/receipt.sd-jwt"), opened.json("wake-keys.json"))

    check_content(claims, opened.json(f"{folder}/content.json"))
    rest = check_answer(claims, opened.text(f"{folder}/answer.json"))
    assert rest == ["expires_at", "expired", "erased", "nonce"]
    assert claims["delivery_id"] == refund.pk
    assert claims["person"]["name"] == "alice"


def test_the_answer_is_the_body_that_the_agent_gets(
    refund: Question, caller: AgentClient, agent: Agent
) -> None:
    body = caller.get(f"response/{refund.pk}").content

    assert evidence_of(agent).files[f"deliveries/{refund.pk}/answer.json"] == body


def test_the_manifest_has_the_sha256_of_every_file_and_the_audit_has_that_of_the_manifest(
    refund: Question, agent: Agent, alice: User
) -> None:
    opened = evidence_of(agent, by=person(alice))

    manifest = opened.json("manifest.json")
    hashes = {
        path: hashlib.sha256(content).hexdigest()
        for path, content in opened.files.items()
        if path != "manifest.json"
    }
    assert {file["path"]: file["sha256"] for file in manifest["files"]} == hashes
    assert manifest["made_by"] == {"kind": "person", "id": str(alice.pk), "name": "alice"}
    assert manifest["counts"]["deliveries"] == manifest["counts"]["receipts"] == 1
    begun, done = AuditEvent.objects.filter(event__startswith="evidence.").order_by("pk")
    assert (begun.actor_name, begun.object_id, begun.team_id) == (
        "alice",
        str(agent.pk),
        agent.team_id,
    )
    assert begun.detail["deliveries"] == 1
    assert begun.detail["last_day"] == str(today() + timedelta(days=1))
    assert done.detail == {"manifest": hashlib.sha256(opened.files["manifest.json"]).hexdigest()}


def test_the_tables_have_a_row_for_each_delivery_role_event_and_missing_part(
    refund: Question, make_delivery: MakeDelivery, agent: Agent, bob: User
) -> None:
    open_question = make_delivery(type="question")

    opened = evidence_of(agent)

    first, second = opened.rows("deliveries.csv")
    assert (first["delivery_id"], first["status"], first["role"]) == (
        refund.pk,
        "approved",
        "owner",
    )
    assert (first["outcome"], first["outcome_summary"]) == ("failed", "declined")
    assert (second["delivery_id"], second["status"]) == (str(open_question.pk), "pending")
    assert {(row["name"], row["role"]) for row in opened.rows("roles.csv")} == {
        ("alice", "owner"),
        ("bob", "reviewer"),
    }
    events = [row["event"] for row in opened.rows("events.csv") if row["object_id"] == refund.pk]
    assert sorted(events) == [
        *("delivery.answered", "delivery.outcome", "delivery.received", "response.claimed"),
        "response.picked_up",
    ]
    assert opened.rows("missing.csv") == []


def test_a_delivery_that_disappears_meanwhile_is_named(
    refund: Question, make_delivery: MakeDelivery, agent: Agent
) -> None:
    removed = make_delivery(type="question")
    pk, files = str(removed.pk), files_of(agent)
    removed.delete()

    opened = Opened({file.path: b"".join(file.parts) for file in files})

    named = {"delivery_id": pk, "what": "delivery", "why": missing.DISAPPEARED}
    assert named in opened.rows("missing.csv")
    assert [row["delivery_id"] for row in opened.rows("deliveries.csv")] == [refund.pk]
    assert opened.json("manifest.json")["counts"]["missing"] == 1


def test_erased_content_is_named_and_the_receipt_still_verifies(
    refund: Question, agent: Agent, team: Team
) -> None:
    Retention.objects.create(team=team, days=10)
    retention.erase_old(at=database_now() + timedelta(days=20))

    opened = evidence_of(agent)

    record = opened.record(refund.pk)
    assert record["content"] is None
    assert "Retention erased them" in opened.missing(refund.pk)["content, texts and files"]
    assert f"deliveries/{refund.pk}/content.json" not in opened.files
    assert json.loads(opened.text(f"deliveries/{refund.pk}/answer.json"))["erased"] is True
    receipt = opened.text(f"deliveries/{refund.pk}/receipt.sd-jwt")
    assert verified(receipt, opened.json("wake-keys.json"))["status"] == "approved"
    assert not any(b"Refund EUR" in content for content in opened.files.values())
    assert opened.json("manifest.json")["counts"]["erased"] == 1


def test_parts_whose_encryption_key_is_gone_are_named(
    encrypting: Any, settings: Any, refund: Question, agent: Agent
) -> None:
    settings.WAKE_ENCRYPTION_KEYS = ["another-key-of-thirty-two-characters"]

    opened = evidence_of(agent)

    gone = opened.missing(refund.pk)
    assert {what for what, why in gone.items() if why == missing.NO_KEY} == {
        *("content (details)", "content (nonce)", "feedback", "receipt", "summary of an outcome"),
    }
    assert opened.record(refund.pk)["answer"]["status"] == "approved"


def test_a_removed_person_is_a_number_and_is_named_as_missing(
    make_delivery: MakeDelivery, answer: Answer, agent: Agent, alice: User, bob: User
) -> None:
    delivery = make_delivery()
    answer(delivery, by=bob)
    number = f"Person {bob.pk}"
    removal.remove(bob, by=SYSTEM, at=database_now())

    opened = evidence_of(agent)

    assert opened.missing(delivery.pk)[f"name of {number}"] == missing.REMOVED
    answered = opened.record(delivery.pk)["answer"]
    assert (answered["name"], answered["role"]) == (number, "reviewer")
    assert number in {row["name"] for row in opened.rows("roles.csv")}
    assert not any(b"bob" in content for content in opened.files.values())


def test_an_answer_that_is_still_held_is_left_out_and_named(
    make_delivery: MakeDelivery, answer: Answer, agent: Agent
) -> None:
    delivery = make_delivery()
    answer(delivery, held=True, feedback="Not yet.")

    opened = evidence_of(agent)

    assert opened.record(delivery.pk)["answer"] is None
    assert opened.missing(delivery.pk)["answer"] == missing.NOT_FINAL
    assert not any(b"Not yet." in content for content in opened.files.values())


def test_other_agents_teams_modes_and_days_are_left_out(
    refund: Question,
    make_delivery: MakeDelivery,
    agent: Agent,
    team: Team,
    elsewhere: Delivery,
    age: Age,
) -> None:
    other = Agent.objects.create(team=team, agent_id="other-agent")
    of_other = Delivery.objects.get(pk=make_delivery(headline="Of another agent").pk)
    Delivery.objects.filter(pk=of_other.pk).update(agent=other)
    Delivery.objects.filter(pk=make_delivery(headline="A test").pk).update(mode="test")
    age(make_delivery(headline="Of last week"), days=7)

    opened = evidence_of(agent)

    everything = b"".join(opened.files.values()).decode()
    assert [row["delivery_id"] for row in opened.rows("deliveries.csv")] == [refund.pk]
    for text in ("Of another agent", "A test", "Of last week", elsewhere.headline, "mallory"):
        assert text not in everything


def test_no_personal_data_besides_names_and_decisions(
    refund: Question, agent: Agent, alice: User, bob: User
) -> None:
    delivery = Delivery.objects.get(pk=refund.pk)
    Comment.objects.create(
        delivery=delivery,
        author=bob,
        author_name="bob",
        text="Between us.",
        written_at=database_now(),
    )

    everything = b"".join(evidence_of(agent, by=person(alice, "203.0.113.7")).files.values())

    for text in (alice.email, bob.email, "Between us.", "203.0.113.7", alice.password):
        assert text.encode() not in everything


def test_votes_and_rules_are_in_the_export(
    make_rule: MakeRule,
    make_delivery: MakeDelivery,
    agent: Agent,
    alice: User,
    bob: User,
) -> None:
    rule = make_rule(people=[alice, bob], needed=2)
    delivery = make_delivery(type="question")
    for by in (bob, alice):
        respond(
            Delivery.objects.get(pk=delivery.pk),
            by=by,
            status="approved",
            content_hash=delivery.content_hash,
            at=database_now(),
        )
    release_due(at=database_now() + timedelta(minutes=1))

    opened = evidence_of(agent)

    record = opened.record(delivery.pk)
    assert [(vote["name"], vote["role"]) for vote in record["votes"]] == [
        ("bob", "reviewer"),
        ("alice", "owner"),
    ]
    assert record["assigned_by_rule"] == {"id": str(rule.pk), "version": 1}
    (version,) = opened.json("rules.json")
    assert (version["kind"], version["rule_name"], version["needed"]) == (
        "assignment rule",
        rule.name,
        2,
    )


HOSTILE = '<script>alert(1)</script>\u202e=HYPERLINK("https://evil.example")'


def test_no_text_of_an_agent_acts_in_the_summary_or_in_a_spreadsheet(
    make_delivery: MakeDelivery, answer: Answer, key: ApiKey, agent: Agent
) -> None:
    delivery = make_delivery(
        headline=f"=1+1 {HOSTILE}",
        summary=HOSTILE,
        details_json=json.dumps({"cmd": HOSTILE}, ensure_ascii=False),
    )
    answer(delivery, feedback=HOSTILE)
    outcomes.report(key, delivery.pk, status="done", summary=f"@{HOSTILE}", at=database_now())

    opened = evidence_of(agent)

    page = opened.text("summary.html")
    assert "<script" not in page
    assert "\u202e" not in page
    assert page.count("⟨U+202E⟩") == 5
    assert "default-src 'none'" in page
    assert "src=" not in page.replace("default-src", "")
    assert "href=" not in page
    assert "deliveries 1, answers 1," in page
    (row,) = opened.rows("deliveries.csv")
    assert row["headline"].startswith("'=1+1")
    assert row["outcome_summary"].startswith("'@<script>")


def test_the_claim_of_a_gate_and_the_answer_of_a_rule_are_named(
    make_answering_rule: MakeAnsweringRule,
    caller: AgentClient,
    team: Team,
    agent: Agent,
    answer: Answer,
) -> None:
    _, text = gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=database_now())
    by_person = Question(caller)
    answer(by_person.pk)
    assert by_person.claim(text=text).status_code == 200
    rule = make_answering_rule(on=True)
    by_rule = Question(caller)
    run_rules(at=database_now() + timedelta(minutes=1))
    release_due(at=database_now() + timedelta(minutes=2))

    opened = evidence_of(agent)

    assert opened.record(by_person.pk)["claim"]["claimed_by"] == "Refunds"
    answered = opened.record(by_rule.pk)["answer"]
    assert (answered["decided_by"], answered["name"]) == ("rule", "Small refunds")
    assert answered["rule"] == {"id": str(rule.pk), "version": 1}
    assert [version["kind"] for version in opened.json("rules.json")] == ["answering rule"]
    assert "answering_rule.turned_on" in {row["event"] for row in opened.rows("events.csv")}
