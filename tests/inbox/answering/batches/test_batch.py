"""A person reads and answers several outputs together."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlencode
from uuid import UUID, uuid4

import pytest
from django.db import DataError
from django.test.utils import CaptureQueriesContext

from accounts.models import User
from inbox.models import Reading
from tests.inbox.person import Person, text_of
from tests.types import Age, Answer, MakeDelivery
from wake import signals
from wake.models import Delivery, Draft, Response


def review(person: Person, *deliveries: Delivery, **query: Any) -> Any:
    return person.get("/batch/", id=[str(delivery.pk) for delivery in deliveries], **query)


def choose(delivery: Delivery, status: str = "approved", *, read: bool = True) -> dict[str, Any]:
    mark = {"read": [str(delivery.pk)]} if read else {}
    fields = {f"answer-{delivery.pk}": status, f"hash-{delivery.pk}": delivery.content_hash}
    return {"id": [str(delivery.pk)], **fields, **mark}


def send(
    person: Person,
    *choices: dict[str, Any],
    follow: bool = True,
    by_hand: bool = False,
    **fields: str,
) -> Any:
    together: dict[str, Any] = {"id": [], "read": [], **fields}
    for choice in choices:
        for name, value in choice.items():
            together[name] = together[name] + value if isinstance(value, list) else value
    page = f"/batch/?{urlencode({'id': together['id']}, doseq=True)}"
    return person.client.post("/batch/answer", together, follow=follow, page=page, by_hand=by_hand)


def statuses() -> dict[str, str]:
    rows = Response.objects.select_related("delivery")
    return {row.delivery.headline: row.status for row in rows}


def test_each_output_is_shown_in_full_in_the_order_of_the_selection(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    first = make_delivery(headline="Report", details_json=json.dumps("All of **it**"))
    second = make_delivery(headline="Notes", details_json=json.dumps({"sections": ["Findings"]}))

    page = review(alices, second, first)

    text = text_of(page)
    assert "Reviewing 2 together" in text
    assert text.index("1. Notes") < text.index("Findings") < text.index("2. Report")
    assert "<strong>it</strong>" in page.content.decode()


def test_an_output_that_asks_to_choose_is_answered_on_its_page(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    """An approval used to be sent with a choice of null."""
    options = [{"id": id, "label": f"Option {id}"} for id in "AB"]
    blocks = {"wake_blocks": 1, "blocks": [{"type": "choice", "options": options}]}
    undecided = make_delivery(headline="Prices", details_json=json.dumps(blocks))
    options[0]["recommended"] = True  # type: ignore[assignment]
    recommended = make_delivery(headline="Plan", details_json=json.dumps(blocks))

    text = text_of(review(alices, undecided, recommended))
    result = send(alices, choose(undecided), choose(recommended))

    assert "Reviewing 1 together" in text
    assert "Prices" in text.split("One by one", 1)[1]
    assert "It asks you to choose. Answer it on its page." in text_of(result)
    assert statuses() == {"Plan": "approved"}
    send(alices, choose(undecided, "rejected"))
    assert statuses() == {"Plan": "approved"}


def test_outputs_that_were_opened_before_are_marked_as_read(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    opened, other = make_delivery(), make_delivery()
    alices.see(opened)

    page = review(alices, opened, other)

    assert "1 of 2 read" in text_of(page)
    assert f'value="{opened.pk}" checked' in page.content.decode()


def test_details_that_are_too_long_for_the_page_are_links(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    long = make_delivery(headline="Long", details_json=json.dumps("long words " * 2_000))
    short = [make_delivery(details_json=json.dumps("short " * 1_600)) for _ in range(10)]

    page = review(alices, long, *short)

    assert "long words" not in text_of(page)
    assert text_of(page).split("One by one", 1)[1].count("Market report") == 2
    assert page.content.decode().count('class="untrusted"') == 8


def test_an_output_without_its_encryption_key_does_not_hide_the_others(
    alices: Person, make_delivery: MakeDelivery, settings: Any
) -> None:
    there = make_delivery(details_json='"These words"')
    settings.WAKE_ENCRYPT_CONTENT = True
    gone = make_delivery(details_json='"Other words"', timeout_seconds=600, assumption="So be it")
    settings.WAKE_ENCRYPTION_KEYS = ["another key of thirty-two characters"]

    page = text_of(review(alices, there, gone))

    assert "These words" in page
    assert "Other words" not in page
    assert "Reviewing 1 together" in page
    assert "goes ahead without you" in text_of(alices.get("/closing-soon/"))


def test_only_answerable_outputs_are_answered_in_a_batch(
    alices: Person, ritas: Person, make_delivery: MakeDelivery
) -> None:
    output, question = make_delivery(), make_delivery(type="question", headline="Which one?")

    page = text_of(review(alices, output, question))
    nothing = text_of(review(ritas, output))

    assert "Reviewing 1 together" in page
    assert page.index("One by one") < page.index("Which one?")
    assert "one at a time" in nothing
    assert "Send answers" not in nothing


def test_answers_share_one_note_and_undecided_outputs_stay(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    good, bad, later = (make_delivery(headline=name) for name in ("Good", "Bad", "Later"))

    page = send(
        alices,
        choose(good),
        choose(bad, "rejected", read=False),
        choose(later, "", read=False),
        note="Thank you",
    )

    assert page.redirect_chain[0][1] == 303
    assert "Both answers sent" in text_of(page)
    assert statuses() == {"Good": "approved", "Bad": "rejected"}
    assert set(Response.objects.values_list("feedback", flat=True)) == {"Thank you"}
    assert Reading.objects.get().delivery == good


def test_the_session_forgets_a_sent_note(alices: Person, make_delivery: MakeDelivery) -> None:
    """Retention erases the answers, but cannot erase sessions."""
    send(alices, choose(make_delivery()), choose(make_delivery()), note="My words")

    assert Response.objects.filter(feedback="My words").count() == 2
    assert "My words" not in str(dict(alices.client.session))


NAMED = "“Market report ready for your review”"


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        ([("approved", False)], f"Mark {NAMED} as read before approving it."),
        ([("approved", False)] * 2, f"Mark {NAMED} and {NAMED} as read before approving them."),
        ([("approved", False)] * 3, f"Mark {NAMED} and 2 others as read before approving them."),
        ([("", True)], "Nothing to send yet"),
        ([("redirected", True)], "Nothing to send yet"),
    ],
)
def test_an_incomplete_batch_sends_nothing_and_keeps_the_choices(
    alices: Person, make_delivery: MakeDelivery, choices: list[tuple[str, bool]], why: str
) -> None:
    rest = make_delivery()
    batch_choices = [choose(make_delivery(), status, read=read) for status, read in choices]

    page = send(alices, choose(rest, ""), *batch_choices, note="My words")

    assert page.status_code == 422
    assert why in text_of(page)
    assert ">\nMy words</textarea>" in page.content.decode()
    assert page.content.decode().count('value="approved" checked') == sum(
        status == "approved" for status, _ in choices
    )
    assert not Response.objects.exists()


def test_a_note_that_is_too_long_is_kept_and_not_sent(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    page = send(alices, choose(make_delivery()), note="x" * 20_001)

    assert page.status_code == 422
    assert "Your message is too long (20,000 characters at most)" in text_of(page)


def test_a_conflict_in_one_answer_of_a_batch_stops_no_other(
    alices: Person, bob: User, make_delivery: MakeDelivery, answer: Answer
) -> None:
    sent, first, changed = (make_delivery(headline=name) for name in ("Sent", "First", "Changed"))
    answer(first, "rejected", by=bob)
    stale = {**choose(changed), f"hash-{changed.pk}": "0" * 64}

    page = send(alices, choose(first), stale, choose(sent), note="My words")

    text = text_of(page)
    assert text.startswith("1 of 3 answers sent · Wake")
    assert "Your message. Answers marked “Not sent” didn't include it." in text
    assert "unsent note" not in text
    assert "already answered: Rejected by bob" in text
    assert "It changed after you read it" in text
    assert ">\nMy words</textarea>" in page.content.decode()
    assert statuses() == {"Sent": "approved", "First": "rejected"}


def test_an_answer_after_the_deadline_is_sent_and_marked_as_late(
    alices: Person, make_delivery: MakeDelivery, age: Age
) -> None:
    delivery = make_delivery(timeout_seconds=60)
    age(delivery, minutes=5)

    assert "marked as late: the deadline had passed" in text_of(send(alices, choose(delivery)))


@pytest.fixture
def refuses(settings: Any) -> Iterator[Callable[[Delivery], None]]:
    """Makes the database refuse the answer to this delivery."""
    settings.WAKE_HOLD_SECONDS = 0
    refused: set[Any] = set()

    def receive(response: Response, **rest: Any) -> None:
        if response.delivery_id in refused:
            raise DataError("not this one")

    signals.released.connect(receive)
    yield lambda delivery: refused.add(delivery.pk)
    signals.released.disconnect(receive)


def test_an_answer_that_cannot_be_stored_does_not_stop_the_others(
    alices: Person, make_delivery: MakeDelivery, refuses: Callable[[Delivery], None]
) -> None:
    before, failing, after = (make_delivery(headline=name) for name in ("Before", "Bad", "After"))
    refuses(failing)

    page = send(alices, choose(before), choose(failing), choose(after))

    assert "2 of 3 answers sent" in text_of(page)
    assert "Something went wrong on our side. This answer wasn't sent." in text_of(page)
    assert statuses() == {"Before": "approved", "After": "approved"}


def test_another_teams_delivery_can_neither_be_read_nor_answered(
    alices: Person, elsewhere: Delivery
) -> None:
    page = review(alices, elsewhere)
    sent = send(alices, choose(elsewhere), by_hand=True)

    assert "secret plan" not in page.content.decode() + sent.content.decode()
    assert text_of(sent).startswith("Nothing was sent · Wake")
    assert not Response.objects.exists()
    assert not Reading.objects.exists()


def test_a_reader_answers_nothing(ritas: Person, make_delivery: MakeDelivery) -> None:
    page = send(ritas, choose(make_delivery()), by_hand=True)

    assert "You can no longer answer it." in text_of(page)
    assert not Response.objects.exists()


def test_every_answer_that_was_not_sent_can_be_undone(
    alices: Person, make_delivery: MakeDelivery, age: Age, caller: Any
) -> None:
    first, second = make_delivery(headline="First"), make_delivery(headline="Second")
    page = send(alices, choose(first), choose(second), note="My words")
    undo = f"{page.redirect_chain[0][0].partition('?')[0]}undo"
    age(second, minutes=1)
    assert caller.poll(str(second.pk))["status"] == "approved"

    undone = alices.client.post(undo, follow=True)

    text = text_of(undone)
    assert "1 of 2 answers sent" in text
    assert "Answers that were already sent couldn't be undone." in text
    assert "Undone" in text
    assert "Fetched by the agent" in text
    assert "Undo all" not in text
    assert statuses() == {"Second": "approved"}
    assert Draft.objects.get().feedback == "My words"


def test_undoing_a_batch_leaves_the_answer_that_a_colleague_gave_meanwhile(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    """Alice is an owner, and may undo each answer of Bob."""
    own, other = make_delivery(headline="Own"), make_delivery(headline="Other")
    page = send(alices, choose(own), choose(other))
    undo = f"{page.redirect_chain[0][0].partition('?')[0]}undo"
    alices.undo(other)
    bobs.answer(other, "rejected")

    undone = text_of(alices.client.post(undo, follow=True))

    assert "already answered: Rejected by bob" in undone
    assert "Undo all" not in undone
    assert statuses() == {"Other": "rejected"}


def test_a_batch_shows_the_answer_that_a_person_gave_instead_of_theirs(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    page = send(alices, choose(delivery))
    alices.undo(delivery)
    alices.answer(delivery, "rejected")

    text = text_of(alices.get(page.redirect_chain[0][0]))

    assert "Answer sent" in text
    assert "Rejected" in text
    assert "Approved" not in text


def test_only_the_browser_that_sent_a_batch_sees_its_result(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    page = send(alices, choose(make_delivery()))
    path = page.redirect_chain[0][0].partition("?")[0]

    assert alices.get(path).status_code == 200
    assert bobs.get(path).status_code == 404
    assert alices.get(f"/batch/{uuid4()}/").status_code == 404


def test_the_return_link_keeps_the_filter_and_the_unsent_deliveries(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    sent, later = make_delivery(), make_delivery()

    page = send(alices, choose(sent), choose(later, ""), back="q=report")

    assert f'href="/?q=report&amp;id={later.pk}"' in page.content.decode()


@pytest.mark.parametrize("query", ["", "id=", "id=x&id=../", f"id={UUID(int=4)}", "back=%00%ff"])
def test_a_batch_without_outputs_shows_a_message(alices: Person, query: str) -> None:
    page = alices.client.get(f"/batch/?{query}")

    assert page.status_code == 200
    assert "Reviewing" not in text_of(page)


def test_the_page_takes_as_many_queries_for_ten_as_for_two(
    alices: Person,
    make_delivery: MakeDelivery,
    django_assert_num_queries: Callable[..., CaptureQueriesContext],
) -> None:
    deliveries = [make_delivery(details_json='"words"') for _ in range(10)]

    for count in (2, 10):
        with django_assert_num_queries(5):
            review(alices, *deliveries[:count])
