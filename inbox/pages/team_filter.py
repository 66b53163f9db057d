"""One of a person's teams, looked at as if it were the only one: the address says which."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from django.http import Http404, QueryDict

from inbox.viewer import Viewer

TEAM = "team"


@dataclass(frozen=True, slots=True)
class Tab:
    """`query` is what stands behind the question mark."""

    name: str
    query: str
    is_here: bool


def slug_of(data: QueryDict) -> str:
    """Empty where no team is chosen."""
    return data.get(TEAM, "")


def chosen(viewer: Viewer, data: QueryDict) -> Viewer:
    """Who looks at the team in the address, or at all of theirs. Raises Http404: not theirs and not
    there are the same."""
    slug = slug_of(data)
    found = viewer.within(slug) if slug else viewer
    if found is None:
        raise Http404
    return found


def tabs(viewer: Viewer, slug: str, **kept: str) -> list[Tab]:
    """All teams and each of them, none for a person who has one; `kept` is what else is asked for,
    and stays."""
    teams = [membership.team for membership in viewer.memberships.values()]
    if len(teams) < 2:
        return []
    each = [("All teams", ""), *((team.name, team.slug) for team in teams)]
    rest = {name: value for name, value in kept.items() if value}
    return [
        Tab(name, urlencode({TEAM: own, **rest} if own else rest), own == slug)
        for name, own in each
    ]
