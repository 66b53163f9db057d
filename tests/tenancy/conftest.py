"""Two teams that have the same things, and the people in front of each."""

from __future__ import annotations

import pytest

from accounts.models import Team, User
from tests.inbox.people import Person
from tests.tenancy.house import House, build


@pytest.fixture
def ours(team: Team, alice: User, bob: User, rita: User) -> House:
    return build(team, words="ourplan")


@pytest.fixture
def theirs(mallory: User) -> House:
    return build(mallory.teams.get(), words="theirplan")


@pytest.fixture
def alices(alice: User) -> Person:
    return Person(alice)


@pytest.fixture
def ritas(rita: User) -> Person:
    return Person(rita)
