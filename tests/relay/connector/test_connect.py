"""The relay and a connector exchange frames, tested without a transport."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, Team
from relay.models import CallerKey, Card, Connector, Message, Run, Task
from relay.tasks import reports
from tests.fixtures import wrapped
from tests.relay.calling import Caller
from tests.relay.fake_connector import FakeConnector, Frame, after, ask, now, of
from wake.models import Delivery

State = Task.State


def test_hello_is_answered_with_the_relays_limits(card: Card, key: ApiKey) -> None:
    connector = FakeConnector(
        key, machine="studio", capacity=3, agents=[card.agent.agent_id], later="?"
    )

    assert connector.welcome == {
        "type": "welcome",
        "protocol": 1,
        "agent": "research-agent-01",
        "heartbeat_s": 15,
        "lease_s": 60,
        "frame_bytes": 10_485_760,
        "pieces": True,
        "max_concurrency": 4,
    }
    assert (connector.row.machine, connector.row.capacity) == ("studio", 3)


@pytest.mark.parametrize(
    ("said", "code", "closes"),
    [
        ({"protocol": 2}, "protocol", 4406),
        ({"protocol": "1"}, "protocol", 4406),
        ({"agents": ["another"]}, "agent_mismatch", 4403),
        ({"instance_id": ""}, "malformed", None),
        ({"instance_id": "x" * 65}, "malformed", None),
        ({"capacity": 0}, "malformed", None),
        ({"capacity": True}, "malformed", None),
    ],
)
def test_an_invalid_hello_is_refused(
    card: Card, key: ApiKey, said: dict[str, Any], code: str, closes: int | None
) -> None:
    connector = FakeConnector(key, hello=False, **said)

    (error,) = connector.send_frame("hello", **connector.said)

    assert (error["type"], error["code"], connector.session.closes) == ("error", code, closes)
    assert not Connector.objects.exists()


def test_frames_before_hello_are_refused(card: Card, key: ApiKey) -> None:
    connector = FakeConnector(key, hello=False)

    assert connector.send_frame("heartbeat")[0]["code"] == "hello_first"
    assert connector.look() == []


@pytest.mark.parametrize("text", ["", "[]", "null", "{", "7", '{"type": 7}', '{"type":"ack"}'])
def test_an_invalid_frame_is_reported(card: Card, key: ApiKey, text: str) -> None:
    connector = FakeConnector(key)

    (error,) = connector.session.read(text, at=after(1))

    assert (error["type"], error["code"]) == ("error", "malformed")
    assert connector.session.closes is None


def test_a_frame_of_a_later_protocol_is_ignored(card: Card, key: ApiKey) -> None:
    connector = FakeConnector(key)

    assert connector.session.read('{"type": "stream", "of": {"tokens": []}}', at=after(1)) == []


def test_a_command_receives_the_caller_the_messages_and_which_are_new(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    card.reply_policy = Card.ReplyPolicy.CALLER
    card.timeout_seconds = 90
    card.save()
    task = ask(card, caller_key, context_id="quarter")
    connector = FakeConnector(key)
    first = connector.run()
    connector.end(first, "input_required", text="Which market?")
    ask(card, caller_key, "Norway", task_id=str(task.pk))

    (frame,) = connector.look()

    assert {name: frame[name] for name in ("type", "agent", "contextId", "attempt")} == {
        "type": "task",
        "agent": "research-agent-01",
        "contextId": "quarter",
        "attempt": 1,
    }
    assert frame["taskId"] == frame["task"]["id"] == str(task.pk)
    assert frame["dispatch_id"] != first["dispatch_id"]
    assert (frame["decision"], frame["timeout_s"]) == (None, 90)
    assert frame["message"]["messageId"] == frame["messageId"]
    assert [(one["role"], one["parts"]) for one in frame["messages"]] == [
        ("user", [{"type": "text", "text": "Compare the ten largest."}]),
        ("agent", [{"type": "text", "text": "Which market?"}]),
        ("user", [{"type": "text", "text": "Norway"}]),
    ]
    assert frame["messages"][-1] == frame["message"]


@pytest.mark.parametrize(
    ("result", "state", "said"),
    [
        ({"state": "completed", "text": "Done."}, "completed", "Done."),
        ({"state": "TASK_STATE_COMPLETED", "text": "Done."}, "completed", "Done."),
        ({"state": "input-required", "text": "Which?"}, "input_required", "Which?"),
        ({"state": "auth_required"}, "auth_required", None),
        ({"state": "rejected", "text": "No."}, "rejected", "No."),
        ({"state": "completed", "later": {"x": 1}}, "completed", None),
        (
            {"state": "failed", "message": {"parts": [{"kind": "text", "text": "Broken."}]}},
            "failed",
            "Broken.",
        ),
    ],
)
def test_a_run_ends_in_the_reported_state(
    card: Card,
    caller_key: CallerKey,
    key: ApiKey,
    result: dict[str, Any],
    state: str,
    said: str | None,
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)

    (done,) = connector.end(connector.run(), **result)

    message = now(task).status_message
    assert (done["type"], now(task).state) == ("done", state)
    assert (message and message.parts[0]["text"]) == said


@pytest.mark.parametrize(
    "result",
    [
        {"state": "canceled"},
        {"state": "working"},
        {"state": "submitted"},
        {"state": "finished"},
        {"state": None},
        {"state": "completed", "message": "Done."},
        {"state": "completed", "message": {"parts": []}},
        {"state": "completed", "text": ["Done."]},
        {"state": "completed", "artifacts": {"name": "report.md"}},
        {"state": "completed", "artifacts": [{"parts": [{"raw": "no base64!"}]}]},
        {"state": "completed", "direct": "yes"},
        {"state": "completed", "text": "a\x00b"},
        {"state": "completed", "text": "half \ud800 of it"},
        {"state": "completed", "message": {"parts": [{"data": 10**40}]}},
    ],
)
def test_a_result_that_cannot_be_stored_fails_its_run(
    card: Card, caller_key: CallerKey, key: ApiKey, result: dict[str, Any]
) -> None:
    """If the relay refused the result instead, the connector would send the result again,
    forever."""
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    frame = {"type": "result", **of(connector.run()), **result}

    (done,) = connector.session.read(json.dumps(frame), at=after(1))

    message = now(task).status_message
    assert message is not None
    assert (done["type"], now(task).state) == ("done", State.FAILED)
    assert message.parts[0]["text"].startswith("The agent's answer cannot be ")
    assert not task.artifacts.exists()


def test_a_result_that_is_too_long_fails_its_run(
    card: Card, caller_key: CallerKey, key: ApiKey, settings: Any
) -> None:
    settings.WAKE_MAX_A2A_BYTES = 2_000
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    frame = {"type": "result", **of(connector.run()), "state": "completed", "text": "x" * 2_000}

    connector.session.read(json.dumps(frame), at=after(1))

    message = now(task).status_message
    assert message is not None
    assert "longer than 2,000 bytes" in message.parts[0]["text"]


def test_the_agents_plan_is_shown_beside_its_question(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)

    connector.end(
        connector.run(),
        "input_required",
        text="Which market?",
        timeout_seconds=5,
        assumption="Norway",
        on_timeout="proceed",
    )

    delivery = Delivery.objects.get(task_delivery__task=task)
    assert delivery.type == Delivery.Type.QUESTION
    assert (delivery.timeout_seconds, delivery.assumption) == (60, "Norway")
    assert delivery.on_timeout == "proceed"


def test_progress_is_stored_once_and_in_pieces(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    frame = connector.run()

    def piece(n: int, text: str) -> Frame:
        artifact = {"artifactId": "log", "parts": [{"text": text}], "append": True}
        return {"n": n, "artifact": artifact, "text": f"Step {n}"}

    for report in (piece(1, "a"), piece(2, "b"), piece(2, "b"), piece(1, "a"), piece(3, "c")):
        assert connector.send_frame("progress", **of(frame), **report, at=after(report["n"])) == []

    (log,) = task.artifacts.all()
    assert [part["text"] for part in log.parts] == ["a", "b", "c"]
    words = Message.objects.filter(task=task, source="agent")
    assert [one.parts[0]["text"] for one in words] == ["Step 1", "Step 2", "Step 3"]
    assert now(task).state == State.WORKING


def test_a_large_file_is_stored_outside_its_row(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    task = ask(card, caller_key)
    files = [{"raw": "QUJD" * size, "filename": f"{size}.bin"} for size in (1, 30_000)]

    connector.end(connector.run(), "completed", artifacts=[{"artifactId": "a", "parts": files}])

    (artifact,) = task.artifacts.all()
    small, large = artifact.parts
    assert small["raw"] == "QUJD"
    assert "raw" not in large
    assert task.blobs.get().size == 90_000
    assert len(artifact.parts_json) < 1_000


def test_a_draining_connector_finishes_its_runs_and_takes_no_more(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key, capacity=5)
    first, _ = ask(card, caller_key), connector
    frame = connector.run()

    connector.send_frame("drain")
    ask(card, caller_key)

    assert connector.look() == []
    connector.end(frame, "completed")
    assert now(first).state == State.COMPLETED


def test_a_revoked_key_leases_nothing_more(card: Card, caller_key: CallerKey, key: ApiKey) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key)
    keys.revoke(key, by=SYSTEM, at=timezone.now())

    (error,) = connector.look()

    assert (error["code"], connector.session.closes) == ("unauthorized", 4401)
    assert connector.look() == []
    assert Run.objects.get().attempts == 0


def test_a_closed_connection_leases_nothing_more(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    """A sleeping laptop would use up three attempts within three minutes."""
    connector = FakeConnector(key)
    ask(card, caller_key)

    (error,) = connector.look(at=after(46))

    assert (error["code"], connector.session.closes) == ("silent", 4408)
    assert Run.objects.get().attempts == 0


@pytest.mark.parametrize("kind", ["ack", "progress", "result"])
def test_an_unexpected_error_is_reported_for_its_frame_only(
    card: Card, caller_key: CallerKey, key: ApiKey, kind: str
) -> None:
    """A connection that closed because of the frame would reconnect and send the frame again,
    forever."""

    verb = {"ack": "begin", "progress": "record_progress", "result": "finish"}[kind]
    connector = FakeConnector(key)
    ask(card, caller_key)
    frame = connector.run()
    with wrapped.failing(reports, verb, LookupError("a slip of ours")):
        text = json.dumps({"type": kind, **of(frame), "state": "completed"})
        (error,) = connector.session.read(text, at=after(1))

    assert error == {
        "type": "error",
        "code": "failed",
        "message": "Something on our side failed.",
        "dispatch_id": frame["dispatch_id"],
    }
    assert connector.session.closes is None
    assert connector.end(frame, "completed", at=after(2))[0]["type"] == "done"


def test_during_an_outage_a_frame_is_not_answered(
    card: Card, caller_key: CallerKey, key: ApiKey
) -> None:
    connector = FakeConnector(key)
    ask(card, caller_key)
    frame = connector.run()

    with (
        wrapped.failing(reports, "finish", OperationalError("away")),
        pytest.raises(OperationalError),
    ):
        connector.session.read(json.dumps({"type": "result", **of(frame)}), at=after(1))


def test_a_run_of_another_agent_is_unknown(
    card: Card, caller_key: CallerKey, key: ApiKey, team: Team
) -> None:
    other, _ = keys.mint(Agent.objects.create(team=team, agent_id="other"), by=SYSTEM)
    task = ask(card, caller_key)
    frame = FakeConnector(key).run()

    (error,) = FakeConnector(other).end(frame, "completed", text="Mine now.")

    assert (error["code"], error["dispatch_id"]) == ("unknown_run", frame["dispatch_id"])
    assert now(task).state == State.WORKING


def test_a_run_says_who_calls_and_what_they_accept(
    card: Card, caller_key: CallerKey, newer: Caller, connector: FakeConnector
) -> None:
    configuration = {"acceptedOutputModes": ["text/markdown", 7, "no type"]}
    params = newer.sending(referenceTaskIds=["earlier"]) | {"configuration": configuration}
    newer.result("SendMessage", params)
    (frame,) = connector.look(at=timezone.now())

    assert frame["caller"] == {"name": "Build server", "id": str(caller_key.pk)}
    assert frame["acceptedOutputModes"] == ["text/markdown"]
    assert frame["referenceTaskIds"] == ["earlier"]


def test_a_run_has_the_extensions_of_its_message_and_the_metadata_of_its_request(
    newer: Caller, connector: FakeConnector
) -> None:
    uris = ["https://example.com/ext/trace/v1"]
    params = newer.sending(extensions=uris, metadata={"of": "message"})
    newer.result("SendMessage", params | {"metadata": {"of": "request"}})
    (first,) = connector.look(at=timezone.now())
    task_id = first["taskId"]
    connector.end(first, "auth_required", text="Who pays?")
    newer.result("SendMessage", newer.sending(taskId=task_id, messageId="m-2") | {"metadata": 7})
    (second,) = connector.look(at=timezone.now())

    sent = newer.result("GetTask", {"id": task_id})["history"][0]

    assert first["message"]["extensions"] == sent["extensions"] == uris
    assert first["message"]["metadata"] == sent["metadata"] == {"of": "message"}
    assert first["metadata"] == {"of": "request"}
    assert second["metadata"] == {}
    assert second["messages"][0] == first["message"]


def test_an_anonymous_caller_has_no_name(card: Card, connector: FakeConnector) -> None:
    ask(card, None)

    (frame,) = connector.look()

    assert frame["caller"] is None
