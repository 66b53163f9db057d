"""Every answer has one meaning, and the documents print the same table."""

from __future__ import annotations

from typing import Any

import pytest

from tests.client.test_sdk import APPROVED, PENDING
from wake_client import Answer
from wake_client.adapters import Verdict, verdicts
from wake_client.adapters.verdicts import verdict_of

EDIT = {"cents": 1}
EXPIRED: dict[str, Any] = {**PENDING, "expired": True}
WITHDRAWN = {**EXPIRED, "withdrawn_at": "2026-03-07T09:00:00Z"}
LATE = {**APPROVED, "expired": True, "late": True}


def answered(status: str, **fields: Any) -> dict[str, Any]:
    return {**APPROVED, "status": status, **fields}


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (PENDING, None),
        (answered("approved"), Verdict("allow")),
        (answered("approved", feedback="Be quick."), Verdict("allow", "Be quick.")),
        (answered("rejected", feedback="No."), Verdict("deny", "No.")),
        (answered("rejected", feedback=" "), Verdict("deny", verdicts.REJECTED)),
        (answered("redirected", edited_content=EDIT), Verdict("edit", "", EDIT)),
        (answered("redirected", feedback="Half."), Verdict("deny", "Half.")),
        (answered("redirected", edited_content="Half."), Verdict("deny", "Half.")),
        (answered("redirected"), Verdict("deny", verdicts.UNCLEAR)),
        (answered("approved", erased=True), Verdict("deny", verdicts.ERASED)),
        (WITHDRAWN, Verdict("deny", verdicts.WITHDRAWN, withdrawn=True)),
    ],
)
def test_each_answer_has_one_verdict(answer: Any, verdict: Verdict | None, waits: bool) -> None:
    assert verdict_of(Answer.read(answer), waits=waits) == verdict


@pytest.mark.parametrize(
    ("answer", "waiting", "rejecting"),
    [
        (EXPIRED, None, Verdict("deny", verdicts.EXPIRED)),
        (LATE, Verdict("allow"), Verdict("deny", verdicts.EXPIRED)),
        (
            {**LATE, "status": "redirected", "edited_content": EDIT},
            Verdict("edit", "", EDIT),
            Verdict("deny", verdicts.EXPIRED),
        ),
        ({**LATE, "status": "rejected", "feedback": "No."}, *[Verdict("deny", "No.")] * 2),
    ],
)
def test_after_the_deadline_the_declared_plan_decides(
    answer: Any, waiting: Verdict | None, rejecting: Verdict | None
) -> None:
    assert verdict_of(Answer.read(answer), waits=True) == waiting
    assert verdict_of(Answer.read(answer), waits=False) == rejecting


def test_a_framework_without_edits_gets_the_arguments_as_words() -> None:
    verdict = Verdict("edit", "Too much.", {"cents": 1}).without_edit

    assert verdict == Verdict(
        "deny", f'{verdicts.CHANGED.format(arguments=" ")[:-1]}{{"cents": 1}} Too much.'
    )
    assert Verdict("allow").without_edit == Verdict("allow")
