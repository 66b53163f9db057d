"""Summarizes the settings of a person and their teams: the state of each settings page, and
problems that need attention. Each app registers its pages with functions that return both
(pages/settings.py)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter

from accounts.models import User
from accounts.sign_in.two_step import second_factor
from accounts.teams.own_teams import OwnTeam, own_teams
from pages.attention import Note
from pages.settings import OWN, SERVER, TEAMS, SettingsPage, pages_for


@dataclass
class Settings:
    """Loads what several pages need to know for the overview, once."""

    user: User

    @cached_property
    def teams(self) -> list[OwnTeam]:
        return own_teams(self.user)

    @property
    def team_ids(self) -> list[int]:
        return [own.team.pk for own in self.teams]

    @cached_property
    def has_second_factor(self) -> bool:
        return second_factor.is_on(self.user)


@dataclass(frozen=True, slots=True)
class SettingsCard:
    page: SettingsPage
    state: str


@dataclass(frozen=True, slots=True)
class Overview:
    own: list[SettingsCard]
    teams: list[SettingsCard]
    server: list[SettingsCard]
    notes: list[Note]


def overview_of(user: User) -> Overview:
    """Makes nine queries, for any number of teams."""
    settings, pages = Settings(user), pages_for(user)
    cards = [SettingsCard(page, page.state(settings)) for page in pages]
    notes = [note for page in pages for note in page.notes(settings)]
    return Overview(
        own=[card for card in cards if card.page.section == OWN],
        teams=[card for card in cards if card.page.section == TEAMS],
        server=[card for card in cards if card.page.section == SERVER],
        notes=sorted(notes, key=attrgetter("is_risk"), reverse=True),
    )
