"""Each person has their own saved replies."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from accounts.models import User
from inbox.answering import saved_replies
from inbox.answering.saved_replies import MAX_REPLIES, SameName, TooManyReplies
from inbox.models import SavedReply


def _reply(user: User, name: str = "Ship it", status: str = "approved") -> SavedReply:
    return SavedReply(user=user, status=status, name=name, text="Good, go ahead.")


def test_a_saved_reply_is_visible_to_its_owner_only(alice: User, bob: User) -> None:
    saved_replies.save_reply(_reply(bob))

    assert [reply.name for reply in SavedReply.objects.of(bob)] == ["Ship it"]
    assert list(SavedReply.objects.of(alice)) == []


def test_saved_replies_are_listed_under_their_answer(bob: User) -> None:
    for name, status in [("Why", "rejected"), ("Ship it", "approved"), ("Again", "rejected")]:
        saved_replies.save_reply(_reply(bob, name, status))

    grouped = saved_replies.by_answer(SavedReply.objects.of(bob))

    assert [(label, [row.name for row in rows]) for label, rows in grouped] == [
        ("Approved", ["Ship it"]),
        ("Rejected", ["Again", "Why"]),
    ]


def test_two_saved_replies_for_one_answer_have_different_names(bob: User) -> None:
    saved_replies.save_reply(_reply(bob))
    saved_replies.save_reply(_reply(bob, status="rejected"))

    with pytest.raises(SameName):
        saved_replies.save_reply(_reply(bob))


def test_a_saved_reply_keeps_its_name_when_it_is_changed(bob: User) -> None:
    reply = _reply(bob)
    saved_replies.save_reply(reply)

    reply.text = "Even better."
    saved_replies.save_reply(reply)

    assert SavedReply.objects.get().text == "Even better."


@pytest.mark.django_db(transaction=True)
def test_the_number_of_saved_replies_is_limited(bob: User) -> None:
    for number in range(MAX_REPLIES - 1):
        saved_replies.save_reply(_reply(bob, f"Phrase {number}"))

    def save(name: str) -> bool:
        try:
            saved_replies.save_reply(_reply(bob, name))
        except TooManyReplies:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        saved = list(pool.map(save, ["Last", "One too many"]))

    assert sorted(saved) == [False, True]
    assert SavedReply.objects.count() == MAX_REPLIES
