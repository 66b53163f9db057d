"""A reader cannot change the team's data by any request."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

import pytest

from tests.inbox.person import Person
from tests.tenancy import addresses
from tests.tenancy.team_data import TeamData, everything, without_own_channels
from tests.tenancy.test_other_teams import NOT_THERE, fields, names_in_forms

pytestmark = pytest.mark.slow

# A reader may comment, snooze, mark as read and take back an answer of their own (there is none
# here). These actions change nothing for other people.
THEIR_OWN = {
    "deliveries/<uuid:pk>/comments",
    "deliveries/<uuid:pk>/snooze",
    "deliveries/<uuid:pk>/snooze/undo",
    "deliveries/<uuid:pk>/reading",
    "deliveries/<uuid:pk>/undo",
}
# Every member may leave a team.
GOING = "settings/members/<slug:slug>/leave/"
# Afterwards there is no session for the other addresses.
THE_END = {"logout/", "settings/data/remove/"}
OF_A_PERSON = {
    "AuditEvent",
    "Comment",
    "Draft",
    "Preferences",
    "SavedReply",
    "SignInAttempts",
    "Reading",
    "Session",
    "Snooze",
    "User",
}


def the_teams() -> dict[str, Any]:
    rows = without_own_channels(everything())
    return {name: rows[name] for name in rows if name not in OF_A_PERSON}


def test_a_reader_cannot_act(ritas: Person, ours: TeamData, subtests: pytest.Subtests) -> None:
    before = the_teams()
    refused = set()

    for address in addresses.WITH_AN_OBJECT:
        if address.route == GOING:
            continue
        with subtests.test(address.route):
            answer = ritas.client.post(address.path_in(ours), fields(ours), by_hand=True)

            if answer.status_code == HTTPStatus.FORBIDDEN:
                refused.add(address.route)
            elif address.route in THEIR_OWN:
                assert answer.status_code == HTTPStatus.SEE_OTHER
            else:  # there is no such action, or it belongs to one person
                assert answer.status_code in NOT_THERE, "Acting on it takes another role."
    assert the_teams() == before
    assert {"deliveries/<uuid:pk>/response", "callbacks/<uuid:pk>/replay"} <= refused


def test_a_reader_cannot_act_through_ids_in_a_form(
    ritas: Person, ours: TeamData, subtests: pytest.Subtests
) -> None:
    before, names = the_teams(), names_in_forms()

    for address in addresses.WITHOUT:
        if address.route in THE_END:
            continue
        with subtests.test(address.route):
            for asked in ours.ids():
                form = {**dict.fromkeys(names, asked), **fields(ours)}
                answer = ritas.client.post(f"/{address.route}", form, by_hand=True)

                assert answer.status_code < HTTPStatus.INTERNAL_SERVER_ERROR
    assert the_teams() == before


def test_a_reader_can_read(ritas: Person, ours: TeamData) -> None:
    assert ours.words in ritas.get("/").content.decode()
    assert ours.words in ritas.see(ours.delivery).content.decode()
