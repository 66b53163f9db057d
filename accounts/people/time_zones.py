"""Lists the time zones that a person can choose."""

from __future__ import annotations

import zoneinfo
from itertools import groupby
from typing import Any

# Leaves out time zones named after countries, because such names exist only for old programs.
CONTINENTS = {
    *("Africa", "America", "Antarctica", "Arctic", "Asia"),
    *("Atlantic", "Australia", "Europe", "Indian", "Pacific"),
}


def time_zones(current: str) -> list[Any]:
    """Returns UTC and cities by continent, as optgroups, and the person's current zone."""
    known = zoneinfo.available_timezones()
    places = sorted(name for name in known if name.partition("/")[0] in CONTINENTS)
    groups: list[Any] = [("UTC", "UTC")]
    for continent, names in groupby(places, lambda name: name.partition("/")[0]):
        groups.append((continent, [(name, _place(name)) for name in names]))
    if current != "UTC" and current not in places:
        groups.insert(0, (current, current))
    return groups


def _place(name: str) -> str:
    """Returns `Argentina, Buenos Aires`."""
    return name.partition("/")[2].replace("_", " ").replace("/", ", ")
