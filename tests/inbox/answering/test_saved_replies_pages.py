"""Saved phrases on their pages."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client

from accounts.models import User
from inbox.models import Preset
from inbox.presets import MOST

SignedIn = Callable[[User], Client]
SHIP_IT = {"status": "approved", "name": "Ship it", "text": "Good.\r\nGo ahead."}


@pytest.fixture
def bobs(bob: User) -> Preset:
    return Preset.objects.create(user=bob, status="approved", name="Ship it", text="Go ahead.")


def test_a_phrase_is_added_with_its_own_line_ends(bob: User, signed_in: SignedIn) -> None:
    page = signed_in(bob).post("/settings/phrases/", SHIP_IT, follow=True)

    assert "Ship it" in page.content.decode()
    assert Preset.objects.get(user=bob).text == "Good.\nGo ahead."


def test_a_phrase_is_changed_and_removed(bob: User, bobs: Preset, signed_in: SignedIn) -> None:
    client = signed_in(bob)

    client.post(f"/settings/phrases/{bobs.pk}/", {**SHIP_IT, "name": "Ship it now"})
    bobs.refresh_from_db()
    assert bobs.name == "Ship it now"

    client.post(f"/settings/phrases/{bobs.pk}/remove")
    assert Preset.objects.count() == 0


@pytest.mark.parametrize("path", ["", "remove"])
def test_another_persons_phrase_is_not_there(
    path: str, alice: User, bobs: Preset, signed_in: SignedIn
) -> None:
    client = signed_in(alice)

    assert client.post(f"/settings/phrases/{bobs.pk}/{path}", SHIP_IT).status_code == 404
    assert client.get(f"/settings/phrases/{bobs.pk}/").status_code == 404
    assert "Go ahead." not in client.get("/settings/phrases/").content.decode()
    bobs.refresh_from_db()
    assert bobs.text == "Go ahead."


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "You have a phrase of that name for this answer already."),
        ({"name": ""}, "This field is required."),
        ({"name": "x" * 41}, "at most 40 characters"),
        ({"text": "x" * 2001}, "at most 2000 characters"),
        ({"status": "pending"}, "Select a valid choice"),
    ],
)
def test_a_phrase_that_is_not_right_is_not_saved_and_stays_in_the_form(
    fields: dict[str, str], words: str, bob: User, bobs: Preset, signed_in: SignedIn
) -> None:
    page = signed_in(bob).post("/settings/phrases/", {**SHIP_IT, **fields})

    assert page.status_code == 422
    assert words in page.content.decode()
    assert Preset.objects.count() == 1


def test_the_page_says_when_there_is_no_more_room(bob: User, signed_in: SignedIn) -> None:
    Preset.objects.bulk_create(
        Preset(user=bob, status="approved", name=f"Phrase {number}", text="x")
        for number in range(MOST)
    )

    page = signed_in(bob).post("/settings/phrases/", SHIP_IT)

    assert page.status_code == 422
    assert "remove one first" in page.content.decode()


def test_a_phrase_is_no_markup(bob: User, signed_in: SignedIn) -> None:
    hostile = {"status": "approved", "name": "<b>x</b>", "text": "<script>alert(1)</script>"}

    page = signed_in(bob).post("/settings/phrases/", hostile, follow=True)

    assert "<b>x" not in page.content.decode()
    assert "<script>alert" not in page.content.decode()
