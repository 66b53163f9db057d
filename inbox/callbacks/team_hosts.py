"""Finds the hosts that each team allows callbacks to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from wake.models import CallbackHost


def hosts_by_team(team_ids: Collection[int]) -> dict[int, list[CallbackHost]]:
    """Returns the lines of the allowlists, sorted; one query."""
    hosts: dict[int, list[CallbackHost]] = defaultdict(list)
    for line in CallbackHost.objects.filter(team__in=team_ids).order_by("pattern"):
        hosts[line.team_id].append(line)
    return hosts
