"""The delivery page: what it shows, to whom, and what it costs."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.audit import SYSTEM
from accounts.keys import revoke
from accounts.models import Agent, ApiKey, ClaimedId, Team, User
from inbox.models import Reading
from inbox.moments import when
from tests.inbox.people import Person, text_of
from wake.models import Callback, Delivery, Response

Make = Callable[..., Delivery]


def test_a_delivery_is_shown_with_its_agent_and_its_words(
    alices: Person, make_delivery: Make, agent: Agent
) -> None:
    delivery = make_delivery(details_json='"Read **this** first."')

    answer = alices.see(delivery)

    page = text_of(answer)
    assert answer.status_code == 200
    assert f"Output {agent.agent_id} (claude)" in page
    assert "Market report ready for your review" in page
    assert "Details written by the agent" in page
    assert "Read <strong>this</strong> first." in answer.content.decode()


def test_the_form_carries_what_the_person_saw(alices: Person, make_delivery: Make) -> None:
    delivery = make_delivery()

    page = alices.see(delivery).content.decode()

    assert f'name="content_hash" value="{delivery.content_hash}"' in page
    assert f'action="/deliveries/{delivery.pk}/response"' in page


def test_a_question_is_answered_with_a_yes_a_no_or_words(
    alices: Person, make_delivery: Make
) -> None:
    page = text_of(alices.see(make_delivery(type="question")))

    assert "Yes, go ahead No, do not Answer in my words Redirect with edits" in page


def test_a_reader_sees_everything_but_the_form(ritas: Person, make_delivery: Make) -> None:
    delivery = make_delivery(details_json='"the details"')

    page = ritas.see(delivery).content.decode()

    assert "the details" in page
    assert "Owners and reviewers answer." in page
    assert "/response" not in page


def test_the_assumption_stands_beside_the_deadline(alices: Person, make_delivery: Make) -> None:
    at = timezone.now()
    delivery = make_delivery(
        type="question", timeout_seconds=3600, assumption="I take\noption B.", at=at
    )

    page = text_of(alices.see(delivery))

    assert f"continues on its own {when(at + timedelta(hours=1), now=timezone.now())}" in page
    assert "If nobody answers, it assumes I take option B." in page


@pytest.mark.parametrize(
    ("on_timeout", "words"),
    [
        ("", "The agent was free to continue"),
        ("abort", "The agent was to stop"),
        ("hold", "waits for you."),
    ],
)
def test_a_window_that_passed_says_what_the_agent_was_free_to_do(
    alices: Person,
    make_delivery: Make,
    age: Callable[..., None],
    on_timeout: str,
    words: str,
) -> None:
    delivery = make_delivery(timeout_seconds=60, on_timeout=on_timeout)
    age(delivery, minutes=2)

    page = text_of(alices.see(delivery))

    assert words in page
    assert "You can still answer" in page


def test_the_claimed_id_is_shown_only_where_it_differs(
    alices: Person, make_delivery: Make, agent: Agent
) -> None:
    ClaimedId.objects.create(agent=agent, pattern="crew-*")

    usual = text_of(alices.see(make_delivery()))
    claimed = text_of(alices.see(make_delivery(agent_id="crew-7")))

    assert f"{agent.agent_id} as" not in usual
    assert f"{agent.agent_id} as crew-7" in claimed


def test_the_page_tells_how_it_got_here(
    alices: Person,
    bobs: Person,
    make_delivery: Make,
    key: ApiKey,
    answer: Callable[..., Response],
) -> None:
    delivery = make_delivery(key=key)
    bobs.see(delivery)
    answer(delivery, "rejected")

    page = text_of(alices.see(delivery))

    told = page.partition("How this got here")[2]
    at = re.findall(r"(Received from \S+ with key \S+|bob opened it|alice rejected)", told)
    assert at == [
        f"Received from {key.agent.agent_id} with key {key.hint}",
        "bob opened it",
        "alice rejected",
    ]
    assert f"is proven by its key {key.hint}" in told
    assert str(delivery.pk) in told


def test_a_key_that_was_revoked_is_named(alices: Person, make_delivery: Make, key: ApiKey) -> None:
    delivery = make_delivery(key=key)
    revoke(key, by=SYSTEM, at=timezone.now())

    assert "The key that this came with was revoked" in text_of(alices.see(delivery))


def test_an_answer_shows_its_words_and_what_the_edit_changes(
    bobs: Person, make_delivery: Make, answer: Callable[..., Response]
) -> None:
    delivery = make_delivery(details_json='{"title": "Old", "same": 1}')
    answer(
        delivery, "redirected", feedback="See \u202ethis", edited_json='{"title":"New","same":1}'
    )

    shown = bobs.see(delivery)

    page = shown.content.decode()
    assert "See ⟨U+202E⟩this" in page
    assert "<del>Old</del>" in page
    assert "<ins>New</ins>" in page
    assert "/response" not in page


def test_the_raw_view_and_the_download_are_what_was_sent(
    alices: Person, make_delivery: Make
) -> None:
    sent = '{"b": 1.10, "a": "<script>alert(1)</script>"}'
    delivery = make_delivery(details_json=sent)

    download = alices.get(f"/deliveries/{delivery.pk}/raw")
    raw = alices.see(delivery, details="raw")

    assert download.content.decode() == sent
    assert download["Content-Type"] == "text/plain; charset=utf-8"
    assert download["Content-Disposition"] == f'attachment; filename="{delivery.pk}.json"'
    assert download["Content-Security-Policy"] == "sandbox; default-src 'none'"
    assert download["X-Content-Type-Options"] == "nosniff"
    assert "&quot;b&quot;: 1.10" in raw.content.decode()
    assert "<script>alert" not in raw.content.decode()


def test_a_text_is_downloaded_as_the_text_itself(alices: Person, make_delivery: Make) -> None:
    delivery = make_delivery(details_json='"one\\ntwo \\u202e"')

    download = alices.get(f"/deliveries/{delivery.pk}/raw")

    assert download.content.decode() == "one\ntwo \u202e"
    assert f'filename="{delivery.pk}.txt"' in download["Content-Disposition"]


def test_without_details_there_is_nothing_to_download(alices: Person, make_delivery: Make) -> None:
    delivery = make_delivery()

    assert "No details were sent." in text_of(alices.see(delivery))
    assert alices.get(f"/deliveries/{delivery.pk}/raw").status_code == 404


def test_the_page_takes_at_most_eight_queries(
    alices: Person,
    make_delivery: Make,
    key: ApiKey,
    second_team: Team,
    answer: Callable[..., Response],
    django_assert_max_num_queries: Callable[..., Any],
) -> None:
    first = make_delivery(key=key, details_json='{"a": 1}', thread="t", callback_webhook="")
    response = answer(first, "redirected", edited_json='{"a": 2}')
    second = make_delivery(key=key, details_json='{"a": 3}', supersedes=first.pk)
    third = make_delivery(key=key, details_json='{"a": 4}', supersedes=second.pk)
    alices.answer(third, "redirected", feedback="Not yet.")
    alices.undo(third)
    for number in range(5):
        make_delivery(key=key, thread="t", headline=f"Another {number}")
    Callback.objects.create(
        response=response,
        agent=first.agent,
        team=first.team,
        url="https://hooks.example.com/",
        host="hooks.example.com",
        body=b"{}",
        tries=3,
    )

    for delivery in (first, second, third):
        with django_assert_max_num_queries(8):
            assert alices.see(delivery).status_code == 200


def test_the_pages_policy_allows_nothing_inline(alices: Person, make_delivery: Make) -> None:
    answer = alices.see(make_delivery(details_json='{"a": {"b": [1]}}'))

    page = answer.content.decode()
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    assert " style=" not in page
    assert "<style" not in page
    assert " on" not in "".join(part for part in page.split("<") if part.startswith("button"))


def test_it_can_be_marked_as_unread(alices: Person, make_delivery: Make, alice: User) -> None:
    delivery = make_delivery()
    page = alices.see(delivery)
    assert "Mark as unread" in text_of(page)

    alices.post(delivery, "reading", read="no")

    assert not Reading.objects.filter(delivery=delivery, user=alice).exists()


def test_while_somebody_else_is_answering_the_page_says_so(
    alices: Person, bobs: Person, make_delivery: Make, answer: Callable[..., Response]
) -> None:
    delivery = make_delivery()
    answer(delivery, "approved", held=True)

    theirs, own = text_of(bobs.see(delivery)), text_of(alices.see(delivery))

    assert "Answering now: alice." in theirs
    assert "Answering now" not in own


def test_the_page_after_an_answer_tells_the_device_that_it_is_stored(
    alices: Person, bobs: Person, make_delivery: Make
) -> None:
    delivery = make_delivery()
    assert f'data-draft="{delivery.pk}"' in alices.see(delivery).content.decode()

    alices.answer(delivery)

    assert f'data-sent="{delivery.pk}"' in alices.see(delivery).content.decode()
    assert "data-sent" not in bobs.see(delivery).content.decode()


def test_every_key_of_the_page_has_its_control(alices: Person, make_delivery: Make) -> None:
    first, delivery, last = (make_delivery(headline=f"Number {number}") for number in range(3))

    page = alices.see(delivery).content.decode()

    for key in "arejkl":
        assert page.count(f'aria-keyshortcuts="{key}"') == 1
    assert f'href="/deliveries/{last.pk}/" rel="prev" aria-keyshortcuts="k"' in page
    assert f'href="/deliveries/{first.pk}/" rel="next" aria-keyshortcuts="j"' in page


@pytest.mark.parametrize(
    ("type", "offered"), [("update", True), ("alert", True), ("output", False)]
)
def test_got_it_is_offered_where_no_answer_is_needed(
    alices: Person, ritas: Person, make_delivery: Make, type: str, offered: bool
) -> None:
    delivery = make_delivery(type=type)

    assert ("Got it" in text_of(alices.see(delivery))) == offered
    assert "Got it" not in text_of(ritas.see(delivery))


def test_what_somebody_said_got_it_to_says_so_and_can_be_brought_back(
    alices: Person, bobs: Person, make_delivery: Make
) -> None:
    delivery = make_delivery(type="update")
    bobs.client.post("/acknowledgements", {"shown": str(delivery.pk)})

    page = text_of(alices.see(delivery))
    assert "bob said “Got it”" in page
    assert "No answer was sent." in page

    alices.client.post("/acknowledgements/undo", {"shown": str(delivery.pk)})
    assert "said “Got it”" not in text_of(alices.see(delivery)).partition("How this got here")[0]
