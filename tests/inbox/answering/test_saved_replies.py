"""A person's saved phrases."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from accounts.models import User
from inbox import presets
from inbox.models import Preset
from inbox.presets import MOST, SameName, TooMany


def _phrase(user: User, name: str = "Ship it", status: str = "approved") -> Preset:
    return Preset(user=user, status=status, name=name, text="Good, go ahead.")


def test_a_phrase_is_its_owners_alone(alice: User, bob: User) -> None:
    presets.save_phrase(_phrase(bob))

    assert [phrase.name for phrase in Preset.objects.of(bob)] == ["Ship it"]
    assert list(Preset.objects.of(alice)) == []


def test_phrases_stand_under_the_answer_that_they_go_with(bob: User) -> None:
    for name, status in [("Why", "rejected"), ("Ship it", "approved"), ("Again", "rejected")]:
        presets.save_phrase(_phrase(bob, name, status))

    grouped = presets.by_answer(Preset.objects.of(bob))

    assert [(label, [row.name for row in rows]) for label, rows in grouped] == [
        ("Approved", ["Ship it"]),
        ("Rejected", ["Again", "Why"]),
    ]


def test_two_phrases_for_one_answer_have_different_names(bob: User) -> None:
    presets.save_phrase(_phrase(bob))
    presets.save_phrase(_phrase(bob, status="rejected"))

    with pytest.raises(SameName):
        presets.save_phrase(_phrase(bob))


def test_a_phrase_keeps_its_name_when_it_is_changed(bob: User) -> None:
    phrase = _phrase(bob)
    presets.save_phrase(phrase)

    phrase.text = "Even better."
    presets.save_phrase(phrase)

    assert Preset.objects.get().text == "Even better."


@pytest.mark.django_db(transaction=True)
def test_there_is_room_for_so_many_and_not_for_one_more(bob: User) -> None:
    for number in range(MOST - 1):
        presets.save_phrase(_phrase(bob, f"Phrase {number}"))

    def save(name: str) -> bool:
        try:
            presets.save_phrase(_phrase(bob, name))
        except TooMany:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        saved = list(pool.map(save, ["Last", "One too many"]))

    assert sorted(saved) == [False, True]
    assert Preset.objects.count() == MOST
