"""A call is asked about once, and an approval makes it once. The server is real."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.client.adapters.conftest import REFUND, Line, refund
from tests.client.test_sdk import KEY
from wake.models import Claim, Delivery, Outcome
from wake_client import Unavailable, WakeClient
from wake_client.adapters import Approvals, AskOptions, NotRun, Verdict, verdicts

pytestmark = pytest.mark.django_db
Start = Callable[..., Approvals]


def asked(started: Start, **options: Any) -> Delivery:
    started(**options).ask_about(refund())
    return Delivery.objects.get(withdrawn_at=None)


def runs(approvals: Approvals, call: Any = None) -> list[str]:
    """Runs the tool, and returns what it did."""
    done: list[str] = []
    approvals.run(call or refund(), lambda: done.append("refunded"))
    return done


def test_a_restarted_program_asks_once_and_finds_the_answer(
    started: Start, answer: Callable[..., Any], path: Path, line: Line
) -> None:
    delivery = asked(started)
    started().ask_about(refund())
    assert line.verbs.count("deliver") == 1, "The key of the first request lives for 24 hours."

    assert started().verdict(refund()) is None
    answer(delivery, "approved", feedback="Be quick.")

    assert started().verdict(refund()) == Verdict("allow", "Be quick.")
    assert Delivery.objects.count() == 1
    assert path.stat().st_mode & 0o777 == 0o600


def test_people_see_every_argument_and_the_deadline(started: Start) -> None:
    options = AskOptions(timeout_seconds=3600, on_timeout="reject", irreversible=True, quorum=2)

    delivery = asked(started, tools={"refund": options}, options=AskOptions(priority="low"))

    assert delivery.headline == "Call refund?"
    assert (delivery.on_timeout, delivery.irreversible, delivery.quorum) == ("abort", True, 2)
    assert delivery.thread == "Testing: run-1"
    assert delivery.details["proposal"] == REFUND
    assert {"type": "kv", "title": "Arguments", "items": REFUND} in delivery.details["blocks"]


def test_an_approved_call_runs_once_and_its_end_is_reported(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started))
    started().verdict(refund())

    assert runs(started()) == ["refunded"]

    with pytest.raises(NotRun, match="made before"):
        runs(started())
    assert Claim.objects.count() == 1
    assert [each.status for each in Outcome.objects.all()] == ["done"]


def test_two_processes_that_make_one_approved_call_run_the_tool_once(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    answer(asked(started))
    started().verdict(refund())
    others: list[str] = []
    line.meanwhile = lambda: others.extend(runs(started()))  # while this process claims

    with pytest.raises(NotRun, match="started before"):
        runs(started())

    assert others == ["refunded"]


def test_a_tool_that_fails_is_reported_and_not_run_again(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started))
    started().verdict(refund())

    def fails() -> None:
        raise OSError("The bank\nis closed.")

    with pytest.raises(OSError, match="closed"):
        started().run(refund(), fails)

    assert Outcome.objects.get().summary == "OSError: The bank is closed."
    with pytest.raises(NotRun, match="made before"):
        runs(started())


def test_other_arguments_than_the_approved_ones_do_not_run(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started))
    started().verdict(refund())

    with pytest.raises(NotRun, match="other arguments"):
        runs(started(), refund(order="A-1042", cents=18_001))
    with pytest.raises(NotRun, match="No person was asked"):
        runs(started(), refund("call-2"))

    assert not Claim.objects.exists()
    assert runs(started()) == ["refunded"]


def test_an_edit_allows_the_edited_arguments_alone(
    started: Start, answer: Callable[..., Any]
) -> None:
    edit: dict[str, Any] = {"order": "A-1042", "cents": 9_000}
    answer(asked(started), "redirected", edited_json='{"order": "A-1042", "cents": 9000}')

    assert started().verdict(refund()) == Verdict("edit", "", edit)

    with pytest.raises(NotRun, match=r"Call the tool again .* 9000"):
        runs(started())
    assert runs(started(), refund(**edit)) == ["refunded"]
    with pytest.raises(NotRun, match="made before"):
        runs(started(), refund(**edit))


def test_an_edit_that_is_not_json_denies_the_call_and_stops_no_other(
    started: Start, answer: Callable[..., Any]
) -> None:
    answer(asked(started), "redirected", edited_json='{"cents": 1e999}', feedback="All of it.")
    started().ask_about(refund(thread="run-2"))
    answer(Delivery.objects.latest("created_at"))

    by_thread = {run.thread: run.verdicts["call-1"] for run in started().answered()}

    assert by_thread == {
        "run-1": Verdict("deny", f"{verdicts.NOT_JSON} All of it."),
        "run-2": Verdict("allow"),
    }


def test_an_approval_that_was_used_elsewhere_is_denied_for_good(
    started: Start, answer: Callable[..., Any], client: Any, line: Line
) -> None:
    delivery = asked(started)
    answer(delivery)
    started().verdict(refund())
    client.claim(str(delivery.pk), digest=client.response(str(delivery.pk)).digest)

    for _ in range(2):
        with pytest.raises(NotRun, match="used before"):
            runs(started())
    assert line.verbs.count("claim") == 2, "The second denial needs no server."


def test_an_approval_of_other_content_is_denied(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    answer(asked(started))
    line.forged = {"digest": "0" * 64}

    assert started().verdict(refund()) == Verdict("deny", verdicts.MISMATCH)


def test_a_call_without_an_answer_does_not_run(started: Start) -> None:
    asked(started)

    with pytest.raises(NotRun, match="No person has answered"):
        runs(started())


def test_a_rejected_call_does_not_run(started: Start, answer: Callable[..., Any]) -> None:
    answer(asked(started), "rejected", feedback="Not this customer.")

    assert started().verdict(refund()) == Verdict("deny", "Not this customer.")
    with pytest.raises(NotRun, match="Not this customer"):
        runs(started())


def test_the_deadline_rejects_only_if_that_was_declared(
    started: Start, answer: Callable[..., Any], age: Callable[..., None]
) -> None:
    rejects = AskOptions(timeout_seconds=60, on_timeout="reject")
    approvals = started(options=AskOptions(timeout_seconds=60), tools={"refund": rejects})
    waits = refund("call-2", thread="run-2")
    waits = replace(waits, tool="ship")
    for call in (refund(), waits):
        approvals.ask_about(call)
    for delivery in Delivery.objects.all():
        age(delivery, seconds=90)

    assert [each.thread for each in approvals.answered()] == ["run-1"]
    assert approvals.verdict(refund()) == Verdict("deny", verdicts.EXPIRED)
    assert approvals.verdict(waits) is None
    for delivery in Delivery.objects.all():
        answer(delivery)
    assert approvals.verdict(refund()) == Verdict("deny", verdicts.EXPIRED)
    assert approvals.verdict(waits) == Verdict("allow")


def test_a_late_approval_counts_no_more_even_if_the_program_was_away(
    started: Start, answer: Callable[..., Any], age: Callable[..., None]
) -> None:
    delivery = asked(started, options=AskOptions(timeout_seconds=60, on_timeout="reject"))
    age(delivery, seconds=90)
    answer(delivery, feedback="Sorry!")

    assert started().verdict(refund()) == Verdict("deny", f"{verdicts.EXPIRED} Sorry!")


def test_after_a_withdrawal_people_are_asked_again(
    started: Start, answer: Callable[..., Any], client: Any
) -> None:
    first = asked(started)
    client.withdraw(str(first.pk))

    (run,) = started().answered()
    assert run.verdicts["call-1"].withdrawn
    second = asked(started)
    assert started().verdict(refund()) is None
    answer(second)

    assert second != first
    assert started().verdict(refund()) == Verdict("allow")


def test_changed_arguments_of_a_paused_call_replace_the_question(
    started: Start, answer: Callable[..., Any]
) -> None:
    first, changed = asked(started), refund(order="A-1042", cents=1)

    started().ask_about(changed)

    first.refresh_from_db()
    assert first.withdrawn_at is not None
    answer(Delivery.objects.get(withdrawn_at=None))
    (run,) = started().answered()
    assert run.verdicts == {"call-1": Verdict("allow")}
    with pytest.raises(NotRun):
        runs(started())
    assert runs(started(), changed) == ["refunded"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"text": "x" * 20_001},
        {"list": list(range(301))},
        {"text": "a\u0000b"},
        {"text": "a\ud83d"},
        {"list": json.loads("[" * 70 + "]" * 70)},
    ],
    ids=["long", "many", "unreadable", "half of a character", "deep"],
)
def test_a_call_that_no_one_could_read_is_denied(arguments: dict[str, Any], started: Start) -> None:
    call = refund(**arguments)

    started().ask_about(call)

    (run,) = started().answered()
    assert run.verdicts["call-1"].decision == "deny"
    assert started().verdict(call) == run.verdicts["call-1"]
    assert not Delivery.objects.exists()


def test_a_server_without_claims_is_asked_and_the_file_counts(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    line.has_claims = False
    answer(asked(started))
    started().verdict(refund())

    assert runs(started()) == ["refunded"]

    with pytest.raises(NotRun, match="made before"):
        runs(started())
    assert not {"claim", "outcome"} & set(line.verbs)


def test_while_the_server_is_away_nothing_runs_and_nothing_is_lost(
    started: Start, answer: Callable[..., Any], line: Line
) -> None:
    line.is_cut = True
    with pytest.raises(Unavailable):
        started().ask_about(refund())
    line.is_cut = False
    delivery = asked(started)
    answer(delivery)
    started().verdict(refund())
    line.is_cut = True
    with pytest.raises(Unavailable):
        runs(started())
    line.is_cut = False

    def cuts_the_line() -> str:
        line.is_cut = True
        return "refunded"

    assert started().run(refund(), cuts_the_line) == "refunded"
    assert not Outcome.objects.exists()
    line.is_cut = False
    for _ in range(2):
        started().answered()
    assert [each.status for each in Outcome.objects.all()] == ["done"]
    assert line.verbs.count("outcome") == 2, "One while the server was away, and one by the sweep."


def test_reject_needs_a_deadline_and_nothing_else_is_possible() -> None:
    with pytest.raises(ValueError, match="timeout_seconds"):
        AskOptions(on_timeout="reject")
    with pytest.raises(ValueError, match="No time-out approves"):
        AskOptions(on_timeout="proceed", timeout_seconds=60)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="needs a reason"):
        Verdict("deny", " ")


def test_the_file_of_another_agent_is_refused(started: Start, path: Path) -> None:
    asked(started)

    with (
        WakeClient("https://wake.example.com", KEY, agent_id="another") as other,
        pytest.raises(ValueError, match=r"questions of the agent .* a file of its own"),
    ):
        Approvals(other, path)
