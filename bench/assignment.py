"""Measures how 50 assignment rules slow down a delivery and the list page. Compares a team without
rules, a team whose rules match nothing, and a team whose last rule assigns each delivery to two
people."""

from __future__ import annotations

import json
import statistics
from collections.abc import Sequence

from bench import hot_paths, pages
from bench.tools import http_load, servers
from bench.tools.results import Row

TEAMS = ("without-rules", "unmatched", "assigned")
DELIVER, LIST_PAGE = 1.05, 1.1  # limits, as multiples of the cost without rules
WARM_UP = 200


def measure(*, delivers: int, page_views: int, rounds: int, deliveries: int) -> list[Row]:
    """Measures with this many earlier deliveries in total."""
    keys = servers.make_database(*TEAMS, deliveries=deliveries // len(TEAMS), a_team_each=True)
    servers.run("-m", "bench.scenes.full_rules", "unmatched", "0")
    servers.run("-m", "bench.scenes.full_rules", "assigned", "1")
    servers.acknowledge_all()
    servers.manage("collectstatic", "--noinput", "-v0")
    lists = [pages.get("/", pages.fill_inbox(team)[0]) for team in TEAMS]
    deliver = [_deliver(team, key) for team, key in zip(TEAMS, keys, strict=True)]
    with servers.granian("wake.server.web:application", "--interface", "asginl") as server:
        # The list pages are measured first, because deliveries make them longer.
        viewed = _medians(*server, lists, page_views, rounds)
        delivered = _medians(*server, deliver, delivers, rounds)
    return [
        *_rows("deliver", delivered, DELIVER),
        *_rows("list page", viewed, LIST_PAGE),
    ]


def _deliver(agent_id: str, key: str) -> bytes:
    body = json.dumps(hot_paths.BODY | {"agent_id": agent_id}).encode()
    return http_load.request_bytes("POST", "/wake/v1/deliver", key, body)


def _medians(
    port: int, pid: int, requests: Sequence[bytes], times: int, rounds: int
) -> list[float]:
    """Returns the CPU time of each request, as a multiple of the first request's. Each figure is
    the median of several rounds. Each round measures every request once, and begins with another
    request than the round before."""
    for request in requests:
        http_load.load(port, request, WARM_UP)
    ratios = []
    for round in range(rounds):
        costs = [0.0] * len(requests)
        for place in range(len(requests)):
            number = (round + place) % len(requests)
            costs[number] = hot_paths.cpu_of_server(port, pid, requests[number], times)
        ratios.append([cost / costs[0] for cost in costs])
    return [statistics.median(column) for column in zip(*ratios, strict=True)]


def _rows(path: str, ratios: Sequence[float], accept: float) -> list[Row]:
    return [
        Row(f"{path}, {team} by 50 rules", ratio, accept, note="times that without rules")
        for team, ratio in zip(TEAMS[1:], ratios[1:], strict=True)
    ]
