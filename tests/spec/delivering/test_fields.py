"""The request fields (spec, "Request fields"), counted and read as docs/protocol.md settles."""

from __future__ import annotations

import uuid
from datetime import datetime, timedelta
from typing import Any

import pytest

from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from wake.models import Delivery

LENGTHS = {"provider": 128, "headline": 120, "summary": 280}


def test_a_delivery_is_received(caller: AgentClient) -> None:
    """ "201 `{delivery_id, status: "received", created_at}`" """
    answer = caller.post(caller.payload(details={"url": "https://...", "word_count": 3200}))

    assert answer.status_code == 201
    body = answer.json()
    assert list(body) == ["delivery_id", "status", "created_at"]
    assert body["status"] == "received"
    assert uuid.UUID(body["delivery_id"]).version == 4
    assert body["created_at"].endswith("Z")
    assert datetime.fromisoformat(body["created_at"]) == Delivery.objects.get().created_at


@pytest.mark.parametrize("type_", ["update", "question", "output", "alert"])
def test_the_four_types(caller: AgentClient, type_: str) -> None:
    """ "type | enum | ... update, question, output, or alert" """
    caller.deliver(type=type_)

    assert Delivery.objects.get().type == type_


@pytest.mark.parametrize(
    "character", ["x", "é", "漢", "🎉", "e\u0301"[1], "\u200d", "\U000e0067"], ids=ascii
)
@pytest.mark.parametrize("name", LENGTHS)
def test_lengths_count_code_points(caller: AgentClient, name: str, character: str) -> None:
    """ "Lengths count code points." """
    longest = "x" + character * (LENGTHS[name] - 1)

    accepted = caller.post(caller.payload(**{name: longest}))
    refused = caller.post(caller.payload(**{name: longest + character}))

    assert accepted.status_code == 201, accepted.content
    assert getattr(Delivery.objects.get(), name) == longest
    assert error_of(refused, 422, "invalid_field")["fields"][0]["code"] == "max_length"


@pytest.mark.parametrize("name", ["agent_id", "provider", "headline", "summary"])
@pytest.mark.parametrize(
    "blank",
    [
        "",
        " ",
        "\u3000\u2003",
        "\xa0" * 3,
        "\u200b",
        "\u3164",
        "\u2800 \u2800",
        "\u034f",
        "\U0001d159",
    ],
)
def test_an_empty_text_is_422(caller: AgentClient, name: str, blank: str) -> None:
    """ "An empty headline or summary is 422" """
    error = error_of(caller.post(caller.payload(**{name: blank})), 422, "invalid_field")

    assert [problem["field"] for problem in error["fields"]] == [name]


@pytest.mark.parametrize("name", ["agent_id", "provider", "headline", "summary"])
@pytest.mark.parametrize(
    "character",
    ["\n", "\r", "\t", "\x01", "\x1b", "\x7f", "\x85", "\x9f", "\u2028", "\u2029"],
    ids=ascii,
)
@pytest.mark.parametrize("where", ["{}x", "x{}y", "x{}"])
def test_control_characters_in_a_single_line_are_422(
    caller: AgentClient, name: str, character: str, where: str
) -> None:
    """ "so are control characters in single-line fields" """
    text = where.format(character)

    error_of(caller.post(caller.payload(**{name: text})), 422, "invalid_field")

    assert not Delivery.objects.exists()


def test_whitespace_around_a_text_is_kept(caller: AgentClient) -> None:
    caller.deliver(headline="  two  ")

    assert Delivery.objects.get().headline == "  two  "


@pytest.mark.parametrize("seconds", [60, 3600, 604_800])
def test_timeouts_from_a_minute_to_a_week(caller: AgentClient, seconds: int) -> None:
    """ "`timeout_seconds` 60 to 604800" """
    caller.deliver(timeout_seconds=seconds)

    delivery = Delivery.objects.get()
    assert delivery.expires_at == delivery.created_at + timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "name",
    ["details", "callback_webhook", "timeout_seconds", "assumption", "on_timeout"],
)
def test_null_means_absent(caller: AgentClient, name: str) -> None:
    """ "object | string | null", "string | null", "integer | null" """
    caller.deliver(**{name: None})

    delivery = Delivery.objects.get()
    assert delivery.details is None
    assert (delivery.callback_webhook, delivery.timeout_seconds) == ("", None)
    assert (delivery.assumption, delivery.on_timeout) == ("", "")


@pytest.mark.parametrize("details", [{}, {"a": [1, 2]}, "", "text\nwith lines\x00"[:-1], None])
def test_details_are_an_object_a_text_or_null(caller: AgentClient, details: Any) -> None:
    """ "details | object | string | null" """
    caller.deliver(details=details)

    assert Delivery.objects.get().details == details


@pytest.mark.parametrize("on_timeout", ["proceed", "hold", "abort"])
def test_the_agents_plan_is_stored(caller: AgentClient, on_timeout: str) -> None:
    """ "Optional request fields `assumption` (text ...) and `on_timeout` (`proceed` | `hold` |
    `abort`)" """
    caller.deliver(assumption="I publish\nthe short one.", on_timeout=on_timeout)

    delivery = Delivery.objects.get()
    assert delivery.assumption == "I publish\nthe short one."
    assert delivery.on_timeout == on_timeout


def test_ids_are_random(caller: AgentClient) -> None:
    """ "Delivery IDs must be cryptographically random UUID v4 values." """
    ids = [uuid.UUID(caller.deliver()) for _ in range(20)]

    assert all(pk.version == 4 and pk.variant == uuid.RFC_4122 for pk in ids)
    assert ids != sorted(ids), "Not made from the time."


@pytest.mark.parametrize("change", [str.upper, str.lower, str.title])
def test_an_id_is_found_in_any_case(caller: AgentClient, change: Any) -> None:
    """ "Ids are generated as UUID v4; on look-up any case is accepted." """
    pk = caller.deliver()

    answer = caller.get(f"response/{change(pk)}")

    assert answer.status_code == 200
    assert answer.json()["delivery_id"] == pk


@pytest.mark.parametrize(
    ("fields", "stored"),
    [({}, "normal"), ({"priority": None}, "normal"), ({"priority": "high"}, "high")],
)
def test_a_priority_is_optional(caller: AgentClient, fields: dict[str, Any], stored: str) -> None:
    """RFC-002, open in the specification: "Priority signalling" """
    caller.deliver(**fields)

    assert Delivery.objects.get().priority == stored


@pytest.mark.parametrize(
    ("fields", "stored"), [({}, None), ({"quorum": None}, None), ({"quorum": 2}, 2)]
)
def test_a_quorum_is_optional(
    caller: AgentClient, fields: dict[str, Any], stored: int | None
) -> None:
    """ "`quorum`: 2 to 5: how many people have to approve" """
    caller.deliver(**fields)

    assert Delivery.objects.get().quorum == stored


@pytest.mark.parametrize("quorum", [0, 1, 6, -2, 2.0, True, "2", [2]])
def test_a_quorum_out_of_range_is_422(caller: AgentClient, quorum: Any) -> None:
    answer = caller.post(caller.payload(quorum=quorum))

    assert answer.status_code == 422
    (field,) = answer.json()["error"]["fields"]
    assert field["field"] == "quorum"
    assert not Delivery.objects.exists()


@pytest.mark.parametrize(
    ("fields", "stored"),
    [({}, False), ({"irreversible": None}, False), ({"irreversible": True}, True)],
)
def test_an_agent_says_what_cannot_be_undone(
    caller: AgentClient, fields: dict[str, Any], stored: bool
) -> None:
    """ "`irreversible`: `true` if what follows an approval cannot be undone" """
    caller.deliver(**fields)

    assert Delivery.objects.get().irreversible is stored


@pytest.mark.parametrize("irreversible", ["true", 1, 0, "", [True]])
def test_irreversible_takes_only_true_or_false(caller: AgentClient, irreversible: Any) -> None:
    answer = caller.post(caller.payload(irreversible=irreversible))

    (field,) = error_of(answer, 422, "invalid_field")["fields"]
    assert field["field"] == "irreversible"


@pytest.mark.parametrize("priority", ["urgent", "HIGH", "", 1, ["high"]])
def test_an_unknown_priority_is_422(caller: AgentClient, priority: Any) -> None:
    answer = caller.post(caller.payload(priority=priority))

    (field,) = error_of(answer, 422, "invalid_field")["fields"]
    assert field["field"] == "priority"
    assert not Delivery.objects.exists()
