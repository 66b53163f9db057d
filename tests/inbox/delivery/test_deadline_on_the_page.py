"""The page says what the agent does if no one answers."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
from django.utils import timezone

from pages.times import when
from tests.inbox.person import Person, text_of
from tests.types import Age, MakeDelivery


def test_the_assumption_is_shown_beside_the_deadline(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    at = timezone.now()
    delivery = make_delivery(
        type="question", timeout_seconds=3600, assumption="I take\noption B.", at=at
    )

    page = text_of(alices.see(delivery))

    assert f"goes ahead without you {when(at + timedelta(hours=1), now=timezone.now())}" in page
    assert re.search(
        r"If no one answers by [\w ]*\d\d:\d\d \(in 1 h\), the agent goes ahead with its plan: "
        r"I take option B\.",
        page,
    )


@pytest.mark.parametrize(
    ("on_timeout", "plan"),
    [
        ("", "goes ahead without you."),
        ("abort", "stops."),
        ("hold", "keeps waiting."),
    ],
)
def test_without_an_assumption_the_page_says_what_the_deadline_does(
    alices: Person, make_delivery: MakeDelivery, on_timeout: str, plan: str
) -> None:
    with_deadline = make_delivery(timeout_seconds=1500, on_timeout=on_timeout)

    page = text_of(alices.see(with_deadline))

    assert re.search(rf"If no one answers by [\w ]*\d\d:\d\d \(in 25 min\), the agent {plan}", page)
    assert "If no one answers" not in text_of(alices.see(make_delivery()))


def test_an_irreversible_action_is_named_before_it_is_approved(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    warning = "If you approve, the agent does something that can't be undone."

    assert warning in text_of(alices.see(make_delivery(irreversible=True)))
    assert warning not in text_of(alices.see(make_delivery()))


def test_a_delivery_with_a_plan_says_what_follows_from_silence(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    stops = make_delivery(timeout_seconds=1500, on_timeout="abort", assumption="I stop.")

    page = text_of(alices.see(stops))

    assert ", the agent stops. Agent's plan: I stop." in page


def test_what_is_decided_comes_before_the_evidence(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    blocks = [
        {"type": "text", "text": "The evidence."},
        {"type": "choice", "label": "Which?", "options": [{"id": "a", "label": "One price"}]},
    ]
    delivery = make_delivery(
        type="question",
        details_json=json.dumps({"wake_blocks": 1, "blocks": blocks}),
        timeout_seconds=60,
        assumption="I take one.",
    )

    page = text_of(alices.see(delivery))

    parts = ["Which?", "If no one answers", "The evidence.", "Send this choice"]
    places = [page.index(part) for part in parts]
    assert places == sorted(places)
    assert page.count("One price") == 1


@pytest.mark.parametrize(
    ("on_timeout", "words"),
    [
        ("", "The agent may have gone ahead"),
        ("abort", "The agent planned to stop."),
        ("hold", "The agent keeps waiting for you."),
    ],
)
def test_an_expired_delivery_shows_what_the_agent_could_do(
    alices: Person,
    make_delivery: MakeDelivery,
    age: Age,
    on_timeout: str,
    words: str,
) -> None:
    delivery = make_delivery(timeout_seconds=60, on_timeout=on_timeout)
    age(delivery, minutes=2)

    page = text_of(alices.see(delivery))

    assert words in page
    assert "You can still answer" in page
