"""A person manages their saved replies on a page."""

from __future__ import annotations

import pytest

from accounts.models import User
from inbox.answering.saved_replies import MAX_REPLIES
from inbox.models import SavedReply
from tests.types import SignedIn

SHIP_IT = {"status": "approved", "name": "Ship it", "text": "Good.\r\nGo ahead."}


@pytest.fixture
def bobs(bob: User) -> SavedReply:
    return SavedReply.objects.create(user=bob, status="approved", name="Ship it", text="Go ahead.")


def test_a_saved_reply_is_added_with_normal_line_breaks(bob: User, signed_in: SignedIn) -> None:
    page = signed_in(bob).post("/settings/saved-replies/", SHIP_IT, follow=True)

    assert "Ship it" in page.content.decode()
    assert SavedReply.objects.get(user=bob).text == "Good.\nGo ahead."


def test_a_saved_reply_is_changed_and_removed(
    bob: User, bobs: SavedReply, signed_in: SignedIn
) -> None:
    client = signed_in(bob)

    client.post(f"/settings/saved-replies/{bobs.pk}/", {**SHIP_IT, "name": "Ship it now"})
    bobs.refresh_from_db()
    assert bobs.name == "Ship it now"

    client.post(f"/settings/saved-replies/{bobs.pk}/remove")
    assert SavedReply.objects.count() == 0


@pytest.mark.parametrize("path", ["", "remove"])
def test_another_persons_saved_reply_is_not_found(
    path: str, alice: User, bobs: SavedReply, signed_in: SignedIn
) -> None:
    client = signed_in(alice)

    assert client.post(f"/settings/saved-replies/{bobs.pk}/{path}", SHIP_IT).status_code == 404
    assert client.get(f"/settings/saved-replies/{bobs.pk}/").status_code == 404
    assert "Go ahead." not in client.get("/settings/saved-replies/").content.decode()
    bobs.refresh_from_db()
    assert bobs.text == "Go ahead."


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "You already have a saved reply with this name for this answer."),
        ({"name": ""}, "This field is required."),
        ({"name": "x" * 41}, "at most 40 characters"),
        ({"text": "x" * 2001}, "at most 2000 characters"),
        ({"status": "pending"}, "Select a valid choice"),
    ],
)
def test_an_invalid_saved_reply_is_not_saved_and_stays_in_the_form(
    fields: dict[str, str], words: str, bob: User, bobs: SavedReply, signed_in: SignedIn
) -> None:
    page = signed_in(bob).post("/settings/saved-replies/", {**SHIP_IT, **fields})

    assert page.status_code == 422
    assert words in page.content.decode()
    assert SavedReply.objects.count() == 1


def test_the_page_says_when_there_is_no_more_room(bob: User, signed_in: SignedIn) -> None:
    SavedReply.objects.bulk_create(
        SavedReply(user=bob, status="approved", name=f"Reply {number}", text="x")
        for number in range(MAX_REPLIES)
    )

    page = signed_in(bob).post("/settings/saved-replies/", SHIP_IT)

    assert page.status_code == 422
    assert "Remove one" in page.content.decode()


def test_a_saved_reply_is_escaped(bob: User, signed_in: SignedIn) -> None:
    hostile = {"status": "approved", "name": "<b>x</b>", "text": "<script>alert(1)</script>"}

    page = signed_in(bob).post("/settings/saved-replies/", hostile, follow=True)

    assert "<b>x" not in page.content.decode()
    assert "<script>alert" not in page.content.decode()
