"""The bulk sweep: `since`, `next_since`, `status`, `limit`, `total`, `has_more` (docs/protocol.md,
Time, order, cursor). tests/stress/concurrency tests sweeps while other requests change the rows."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.fixtures.agent_client import AgentClient
from tests.spec.http.test_errors import error_of
from tests.types import Answer, MakeDelivery
from wake.models import Delivery


def ids(sweep: dict[str, Any]) -> list[str]:
    return [item["delivery_id"] for item in sweep["deliveries"]]


def test_an_empty_sweep(caller: AgentClient) -> None:
    """ "on an empty page the caller's `since`, else `null`; never "now" " """
    answer = caller.get("responses")

    assert answer.status_code == 200
    assert list(answer.json()) == ["deliveries", "total", "has_more", "next_since"]
    assert answer.json() == {"deliveries": [], "total": 0, "has_more": False, "next_since": None}


@pytest.mark.parametrize(
    "since",
    [
        "2026-03-08T11:55:00Z",
        "2026-03-08T11:55:00.000001Z",
        "2026-03-08T12:55:00+01:00",
        "2026-03-08T12:55:00 01:00",
        "2026-03-08 12:55:00.5 0100",
        "2026-03-08T12:55:00+01",
        "2026-03-08T12:55:00 01",
        "2026-03-08T11:55:00",
        "2026-03-08 11:55:00",
        "2026-03-08T11:55",
        "2026-03-08",
        "20260308T115500Z",
        "2026-03-08T11:55:00.123456789Z",
        "0001-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999Z",
    ],
)
def test_an_empty_page_returns_the_callers_own_since(caller: AgentClient, since: str) -> None:
    """ "`Z`, an offset, or none (= UTC) accepted, also the space that an unencoded `+` becomes" """
    caller.deliver()

    sweep = caller.sweep(since=since, status="approved")

    assert sweep == {"deliveries": [], "total": 0, "has_more": False, "next_since": since}


@pytest.mark.parametrize(
    "since",
    [
        "",
        "now",
        "null",
        "yesterday",
        "1772970900",
        "2026-13-01",
        "2026-02-30T00:00:00Z",
        "2026-03-08T25:00:00Z",
        "2026-03-08T11:55:00+99:00",
        "2026-03-08T11:55:00ZZ",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "\uff12\uff10\uff12\uff16-03-08T11:55:00Z",
        "2026-03-08T11:55:00Z; DROP TABLE",
        "\x00",
        "9" * 5000,
        "1 " * 100_000,
    ],
    ids=lambda since: ascii(since)[:40],
)
def test_an_invalid_since_is_422(caller: AgentClient, since: str) -> None:
    """ "else 422" """
    error = error_of(caller.get("responses", since=since), 422, "invalid_field")

    assert [problem["field"] for problem in error["fields"]] == ["since"]


def test_every_spelling_of_an_instant_is_the_same_instant(
    caller: AgentClient, make_delivery: MakeDelivery
) -> None:
    at = datetime(2026, 3, 8, 11, 55, 0, 123456, tzinfo=UTC)
    before, exactly, after = (
        str(make_delivery(at=at + timedelta(microseconds=shift)).pk) for shift in (-1, 0, 1)
    )
    spellings = [
        "2026-03-08T11:55:00.123456Z",
        "2026-03-08T11:55:00.123456z",
        "2026-03-08T11:55:00.123456",
        "2026-03-08 11:55:00.123456",
        "2026-03-08T11:55:00.123456+00:00",
        "2026-03-08T11:55:00.123456 00:00",
        "2026-03-08T13:25:00.123456+01:30",
        "2026-03-08T13:25:00.123456 01:30",
        "2026-03-08T08:55:00.123456-0300",
        "2026-03-08T12:55:00.123456 01",
    ]

    for since in spellings:
        assert ids(caller.sweep(since=since)) == [after], since
    assert ids(caller.sweep(since="2026-03-08T11:55:00.123455Z")) == [exactly, after]
    assert ids(caller.sweep()) == [before, exactly, after]


def test_since_is_exclusive_and_next_since_is_the_last_row(
    caller: AgentClient, make_delivery: MakeDelivery
) -> None:
    """ "`since` is exclusive", "`next_since` = `activity_at` of the last row" """
    deliveries = [make_delivery() for _ in range(3)]

    sweep = caller.sweep()

    assert ids(sweep) == [str(delivery.pk) for delivery in deliveries]
    assert datetime.fromisoformat(sweep["next_since"]) == deliveries[-1].activity_at
    assert sweep["next_since"].endswith("Z")
    again = caller.sweep(since=sweep["next_since"])
    assert again == {
        "deliveries": [],
        "total": 0,
        "has_more": False,
        "next_since": sweep["next_since"],
    }


def test_stamps_are_unique_and_increase_while_the_clock_is_stopped(
    make_delivery: MakeDelivery,
) -> None:
    """ "unique and strictly increasing per agent at microsecond precision" """
    at = timezone.now()

    stamps = [make_delivery(at=at).activity_at for _ in range(5)]
    backwards = make_delivery(at=at - timedelta(hours=1)).activity_at

    assert stamps == [at + timedelta(microseconds=n) for n in range(5)]
    assert backwards > stamps[-1], "Nor when the clock is set back."


def test_an_answered_delivery_comes_again(
    caller: AgentClient, make_delivery: MakeDelivery, answer: Answer
) -> None:
    """ "Return only deliveries created or responded to after this timestamp." """
    first, second = make_delivery(), make_delivery()
    since = caller.sweep()["next_since"]

    answer(first)

    sweep = caller.sweep(since=since)
    assert ids(sweep) == [str(first.pk)]
    assert sweep["deliveries"][0]["status"] == "approved"
    assert ids(caller.sweep()) == [str(second.pk), str(first.pk)], "In the order of activity."


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_paging_by_any_limit_returns_everything_once(
    caller: AgentClient, make_delivery: MakeDelivery, limit: int
) -> None:
    """ "Use next_since from the previous response to paginate." """
    expected = [str(make_delivery().pk) for _ in range(7)]

    all_ids: list[str] = []
    since = None
    while True:
        sweep = caller.sweep(limit=limit, **({"since": since} if since else {}))
        all_ids += ids(sweep)
        assert sweep["total"] == len(expected) - len(all_ids) + len(sweep["deliveries"])
        assert sweep["has_more"] == (sweep["total"] > len(sweep["deliveries"]))
        since = sweep["next_since"]
        if not sweep["has_more"]:
            break

    assert all_ids == expected


def test_the_default_limit_is_50_and_the_most_are_200(
    caller: AgentClient, make_delivery: MakeDelivery
) -> None:
    """ "limit | Max results. Default: 50. Maximum: 200." """
    for _ in range(201):
        make_delivery()

    assert len(caller.sweep()["deliveries"]) == 50
    for limit in ["200", "201", "99999999999999999999", "0000000000200"]:
        sweep = caller.sweep(limit=limit)
        assert len(sweep["deliveries"]) == 200, "Above is clamped."
        assert (sweep["total"], sweep["has_more"]) == (201, True)


@pytest.mark.parametrize(
    "limit", ["0", "-1", "", "ten", "1.5", "1e2", " 5", "5 ", "+5", "\u0665", "0x5"]
)
def test_422_a_limit_below_or_not_a_number(caller: AgentClient, limit: str) -> None:
    """ "`limit` 1 to 200, above is clamped, below or not a number = 422" """
    error_of(caller.get("responses", limit=limit), 422, "invalid_field")


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, {"pending", "approved", "rejected", "redirected"}),
        ("pending", {"pending"}),
        ("approved,rejected,redirected", {"approved", "rejected", "redirected"}),
        ("redirected,pending", {"redirected", "pending"}),
        ("approved,approved", {"approved"}),
        ("approved, rejected", {"approved", "rejected"}),
    ],
)
def test_status_lists(
    caller: AgentClient,
    make_delivery: MakeDelivery,
    answer: Answer,
    status: str | None,
    expected: set[str],
) -> None:
    """ "`status`: absent = all four; comma list" """
    make_delivery()
    answer(make_delivery(), "approved")
    answer(make_delivery(), "rejected")
    answer(make_delivery(), "redirected", feedback="Like this.")

    sweep = caller.sweep(**({"status": status} if status else {}))

    assert {item["status"] for item in sweep["deliveries"]} == expected
    assert sweep["total"] == len(expected)


@pytest.mark.parametrize("status", ["", ",", "approved,", "done", "APPROVED", "approved;rejected"])
def test_422_an_unknown_status(caller: AgentClient, status: str) -> None:
    """ "unknown = 422" """
    error_of(caller.get("responses", status=status), 422, "invalid_field")


@pytest.mark.parametrize("name", ["status", "since", "limit", "agent_id", "wait"])
def test_422_a_repeated_parameter(caller: AgentClient, name: str) -> None:
    """Only the last value of `status=approved&status=rejected` used to be read, so the approvals
    were never returned."""
    value = {
        "status": "approved",
        "since": "2026-03-08",
        "limit": "5",
        "agent_id": "a",
        "wait": "1",
    }
    twice = f"{name}={value[name]}"

    answer = caller.client.get(f"/wake/v1/responses?{twice}&{twice}", headers=caller.headers)

    error_of(answer, 422, "invalid_field")


def test_unknown_parameters_are_ignored(caller: AgentClient) -> None:
    caller.deliver()

    assert caller.sweep(cursor="x", page="2", format="xml")["total"] == 1


def test_422_names_every_parameter_that_is_wrong(caller: AgentClient) -> None:
    error = error_of(
        caller.get("responses", since="x", limit="x", status="x"), 422, "invalid_field"
    )

    assert {problem["field"] for problem in error["fields"]} == {"since", "limit", "status"}


def test_all_the_filters_together(
    caller: AgentClient, make_delivery: MakeDelivery, answer: Answer
) -> None:
    """ "`total` counts what matches the filters after `since`, before `limit`" """
    answer(make_delivery())
    since = caller.sweep()["next_since"]
    for _ in range(3):
        answer(make_delivery(), "rejected")
    make_delivery()

    sweep = caller.sweep(since=since, status="rejected", limit=2, agent_id=caller.agent_id)

    assert len(sweep["deliveries"]) == 2
    assert (sweep["total"], sweep["has_more"]) == (3, True)


def test_times_are_rfc_3339_utc_with_z(caller: AgentClient, answer: Answer) -> None:
    """ "Times are RFC 3339 UTC with `Z`." """
    pk = caller.deliver(timeout_seconds=3600)
    answer(pk)

    item = caller.poll(pk)

    delivery = Delivery.objects.get()
    assert item["expires_at"].endswith("Z")
    assert datetime.fromisoformat(item["expires_at"]) == delivery.expires_at
    assert item["responded_at"].endswith("Z")
    assert datetime.fromisoformat(item["responded_at"]) == delivery.activity_at
