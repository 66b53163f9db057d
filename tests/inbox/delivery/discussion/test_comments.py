"""People of a team discuss a delivery among themselves, and the agent never reads the
discussion."""

from __future__ import annotations

from copy import copy
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from accounts.models import Agent, AuditEvent, Team, User
from inbox.delivery.discussion import comments
from inbox.models import Comment, Mention
from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake import retention
from wake.models import Callback, Delivery

# Bob needs a second person in the team for a discussion
pytestmark = pytest.mark.usefixtures("alice")

WORDS = "The second figure looks wrong to me."


def write(person: Person, delivery: Delivery, text: str = WORDS, **fields: Any) -> Any:
    given = {"id": str(uuid4()), "text": text, **fields}
    return person.post(delivery, "comments", **given)


def remove(person: Person, delivery: Delivery, comment: Comment) -> Any:
    return person.post(delivery, f"comments/{comment.pk}/remove")


def test_everyone_in_the_team_reads_and_writes_comments(
    ritas: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    sent = write(ritas, delivery)

    assert sent.status_code == 303
    assert sent["Location"] == f"/deliveries/{delivery.pk}/#discussion"
    page = text_of(bobs.see(delivery))
    assert "rita" in page
    assert WORDS in page
    assert "Visible to your team, never to the agent." in page


def test_a_comment_returns_to_the_filter_from_which_it_came(
    bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    sent = write(bobs, delivery, back="q=report")

    assert sent["Location"] == f"/deliveries/{delivery.pk}/?back=q%3Dreport#discussion"


def test_a_comment_is_possible_after_the_answer(
    bobs: Person, make_delivery: MakeDelivery, answer: Answer
) -> None:
    delivery = make_delivery()
    answer(delivery)

    write(bobs, delivery)

    assert WORDS in text_of(bobs.see(delivery))


def test_the_agent_gets_no_comment_by_any_way(
    bobs: Person, caller: AgentClient, allowed_host: str, answer: Answer
) -> None:
    pk = caller.deliver(callback_webhook=f"https://{allowed_host}/hook")
    delivery = Delivery.objects.get(pk=pk)
    write(bobs, delivery)

    answer(delivery)
    write(bobs, delivery)

    assert caller.poll(pk)["status"] == "approved"
    callback = bytes(Callback.objects.get().body)
    for handed_out in (str(caller.poll(pk)), str(caller.sweep()), callback.decode()):
        assert WORDS not in handed_out


def test_a_comment_that_is_sent_twice_is_stored_once(
    bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery, pk = make_delivery(), str(uuid4())

    first, again = write(bobs, delivery, id=pk), write(bobs, delivery, id=pk)

    assert (first.status_code, again.status_code) == (303, 303)
    assert Comment.objects.get().text == WORDS
    assert AuditEvent.objects.filter(event="delivery.commented").count() == 1


def test_an_id_of_another_comment_overwrites_nothing(
    bobs: Person, ritas: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(ritas, delivery)

    write(bobs, delivery, "Something else", id=str(Comment.objects.get().pk))

    assert Comment.objects.get().text == WORDS


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": "  \n "}, "Write something first."),
        ({"text": "x" * 4_001}, "A comment has at most 4000 characters"),
        ({"id": "7"}, "Send your comment again."),
        ({"id": ""}, "Send your comment again."),
    ],
)
def test_what_cannot_be_stored_comes_back_with_the_reason(
    bobs: Person, make_delivery: MakeDelivery, fields: dict[str, str], reason: str
) -> None:
    answer = write(bobs, make_delivery(), **{"text": WORDS, **fields})

    assert answer.status_code == 422
    assert reason in text_of(answer)
    assert fields.get("text", WORDS).strip() in answer.content.decode()
    assert not Comment.objects.exists()


def test_a_delivery_takes_no_more_comments_than_a_page_can_show(
    bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(bobs, delivery)
    row = Comment.objects.get()
    rows = [copy(row) for _ in range(comments.MAX_COMMENTS - 1)]
    for each in rows:
        each.pk = uuid4()
    Comment.objects.bulk_create(rows)

    refused = write(bobs, delivery, "One more")

    assert refused.status_code == 422
    assert "which is the most. Remove one first." in text_of(refused)
    remove(bobs, delivery, row)
    assert write(bobs, delivery, "One more").status_code == 303


def test_people_remove_their_own_comments_and_owners_any(
    alices: Person, bobs: Person, ritas: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(ritas, delivery)
    write(bobs, delivery, "I agree")
    ritas_comment, bobs_comment = Comment.objects.order_by("written_at")

    refused = remove(ritas, delivery, bobs_comment)
    own = remove(ritas, delivery, ritas_comment)
    by_owner = remove(alices, delivery, bobs_comment)

    assert [each.status_code for each in (refused, own, by_owner)] == [403, 303, 303]
    assert list(Comment.objects.values_list("text", flat=True)) == ["", ""]
    assert text_of(bobs.see(delivery)).count("This comment was removed.") == 2


def test_only_those_who_may_remove_a_comment_see_the_button(
    alices: Person, bobs: Person, ritas: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(ritas, delivery)

    offered = [b"/remove" in each.see(delivery).content for each in (alices, bobs, ritas)]

    assert offered == [True, False, True]


def test_a_comment_cannot_be_removed_through_another_delivery(
    bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(bobs, delivery)

    answer = remove(bobs, make_delivery(), Comment.objects.get())

    assert answer.status_code == 404
    assert Comment.objects.get().removed_at is None


def test_a_removed_comment_stays_removed(
    bobs: Person, alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(bobs, delivery)
    alices.see(delivery)
    remove(bobs, delivery, Comment.objects.get())

    remove(alices, delivery, Comment.objects.get())

    assert AuditEvent.objects.filter(event="delivery.comment_removed").count() == 1


def test_the_audit_says_who_commented_and_never_what(
    bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(bobs, delivery)
    remove(bobs, delivery, Comment.objects.get())

    events = AuditEvent.objects.filter(object_id=str(delivery.pk), actor_name="bob")

    assert {event.event for event in events} == {"delivery.commented", "delivery.comment_removed"}
    assert WORDS not in str([event.detail for event in events])
    assert "bob commented" in text_of(bobs.see(delivery))


def test_comments_are_erased_with_the_content_and_none_is_written_later(
    bobs: Person, alice: User, team: Team, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(bobs, delivery, f"@alice {WORDS}")
    later = timezone.now() + timedelta(days=9)
    Delivery.objects.filter(pk=delivery.pk).update(acknowledged_at=timezone.now())
    retention.keep_content(team, days=1, by=alice, at=timezone.now())

    assert retention.erase_old(at=later) == 1

    assert Comment.objects.get().text == ""
    assert not Mention.objects.exists()
    refused = write(bobs, delivery)
    assert refused.status_code == 422
    assert Comment.objects.count() == 1


def test_a_comment_is_encrypted_with_the_other_content(
    bobs: Person, make_delivery: MakeDelivery, settings: Any
) -> None:
    settings.WAKE_ENCRYPT_CONTENT = True
    delivery = make_delivery()

    write(bobs, delivery)

    with connection.cursor() as cursor:
        cursor.execute("SELECT text FROM inbox_comment")
        assert WORDS not in cursor.fetchone()[0]
    assert WORDS in text_of(bobs.see(delivery))


def test_a_person_alone_in_a_team_is_offered_no_discussion(
    alices: Person, make_delivery: MakeDelivery
) -> None:
    assert "Discuss with your team" not in text_of(alices.see(make_delivery()))


def test_comments_stay_when_their_author_is_deleted(
    bobs: Person, alices: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(bobs, delivery)

    bobs.user.delete()

    page = text_of(alices.see(delivery))
    assert WORDS in page
    assert "bob" in page


def test_hostile_words_are_shown_as_words(bobs: Person, make_delivery: MakeDelivery) -> None:
    delivery = make_delivery()

    write(bobs, delivery, "<script>alert(1)</script> a\u202eb")

    page = bobs.see(delivery).content.decode()
    assert "<script>alert(1)" not in page
    assert "\u202e" not in page


def test_the_words_of_a_person_who_left_while_writing_are_not_stored(
    bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()

    with wrapped.before(
        Delivery.objects, "select_for_update", lambda: bobs.user.memberships.all().delete()
    ):
        assert write(bobs, delivery).status_code == 404
    assert not Comment.objects.exists()


def test_a_mention_is_read_while_nothing_can_be_written(
    bobs: Person, alices: Person, make_delivery: MakeDelivery, agent: Agent
) -> None:
    delivery = make_delivery()
    write(bobs, delivery, "@alice please look")

    def refuse_writes(execute: Any, sql: str, *rest: Any) -> Any:
        if sql.startswith(("INSERT", "UPDATE", "DELETE")):
            raise OperationalError("database or disk is full")
        return execute(sql, *rest)

    with connection.execute_wrapper(refuse_writes):
        assert alices.see(delivery).status_code == 200
    assert Mention.objects.unseen().count() == 1
