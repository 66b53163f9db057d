"""Filters a page to one of the viewer's teams. The address of the page names the team."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, QueryDict

from accounts.access.viewer import Viewer

TEAM = "team"


@dataclass(frozen=True, slots=True)
class Tab:
    """Shows the tab of one team. `query` is the query of its link."""

    name: str
    query: str
    is_here: bool


def slug_of(data: QueryDict) -> str:
    """Returns the slug of the chosen team, or an empty text for all teams."""
    return data.get(TEAM, "")


def chosen(viewer: Viewer, data: QueryDict) -> Viewer:
    """Returns the viewer with only the chosen team, or with all of their teams. Raises Http404 for
    a team that they do not belong to."""
    slug = slug_of(data)
    in_team = viewer.within(slug) if slug else viewer
    if in_team is None:
        raise Http404
    return in_team


def tabs(viewer: Viewer, slug: str, **parameters: str) -> list[Tab]:
    """Returns a tab for all teams and a tab for each team. The links of the tabs keep the other
    `parameters`. Returns no tabs if the person has only one team."""
    teams = [membership.team for membership in viewer.memberships.values()]
    if len(teams) < 2:
        return []
    each = [("All teams", ""), *((team.name, team.slug) for team in teams)]
    rest = {name: value for name, value in parameters.items() if value}
    return [
        Tab(
            name,
            urlencode({TEAM: slug_of_tab, **rest} if slug_of_tab else rest),
            slug_of_tab == slug,
        )
        for name, slug_of_tab in each
    ]
