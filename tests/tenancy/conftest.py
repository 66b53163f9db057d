"""Provides two teams with the same data, and a browser for each person."""

from __future__ import annotations

import pytest

from accounts.models import Team, User
from tests.tenancy.team_data import TeamData, build


@pytest.fixture
def ours(team: Team, alice: User, bob: User, rita: User) -> TeamData:
    return build(team, words="ourplan")


@pytest.fixture
def theirs(mallory: User) -> TeamData:
    return build(mallory.teams.get(), words="theirplan")
