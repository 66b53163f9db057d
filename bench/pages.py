"""Measures the CPU time of the list page and of a delivery's page, for a signed-in person."""

from __future__ import annotations

import json
import statistics

from bench.tools import http_load, processes, servers
from bench.tools.results import Row

ROWS = 50
WARM_UP = 40
# The limits of the two pages, in milliseconds of the server's CPU. Unlike the ratios of other rows,
# these limits depend on the machine.
LIST_PAGE, DELIVERY_PAGE = 40.0, 20.0


def measure(*, requests: int, rounds: int, deliveries: int) -> list[Row]:
    """Measures the pages in a new database. The earlier deliveries in this database are all
    acknowledged, so the list shows only the deliveries of `fill_inbox`."""
    servers.make_database("bench", "other", deliveries=deliveries)
    servers.acknowledge_all()
    servers.manage("collectstatic", "--noinput", "-v0")
    cookie, delivery = fill_inbox("home")
    with servers.granian("wake.server.web:application", "--interface", "asginl") as server:
        return [
            _row("list page, 50 rows", *server, get("/", cookie), LIST_PAGE, requests, rounds),
            _row(
                "delivery page",
                *server,
                get(f"/deliveries/{delivery}/", cookie),
                DELIVERY_PAGE,
                requests,
                rounds,
            ),
        ]


def fill_inbox(team: str, *, rows: int = ROWS) -> tuple[str, str]:
    """Returns the cookie of a person and the id of a delivery."""
    filled = json.loads(servers.run("-m", "bench.scenes.full_inbox", team, str(rows)))
    return filled["cookie"], filled["delivery"]


def get(path: str, cookie: str) -> bytes:
    """Returns the request of a browser."""
    lines = [f"GET {path} HTTP/1.1", "Host: 127.0.0.1", f"Cookie: {cookie}"]
    return "\r\n".join([*lines, "Accept-Encoding: gzip", "", ""]).encode()


def _row(
    name: str, port: int, pid: int, request: bytes, accept: float, requests: int, rounds: int
) -> Row:
    http_load.load(port, request, WARM_UP)
    measured = [milliseconds(port, pid, request, requests) for _ in range(rounds)]
    server, database = (statistics.median(column) for column in zip(*measured, strict=True))
    return Row(name, server, accept, unit=" ms", note=f"CPU; PostgreSQL's {database:.1f} ms more")


def milliseconds(port: int, pid: int, request: bytes, times: int) -> tuple[float, float]:
    """Returns the CPU time of the server and of PostgreSQL for each request."""
    before = processes.cpu_of_tree(pid), processes.cpu_of_database(servers.DATABASE)
    http_load.load(port, request, times)
    after = processes.cpu_of_tree(pid), processes.cpu_of_database(servers.DATABASE)
    server, database = (
        (end - begin) / times * 1e3 for begin, end in zip(before, after, strict=True)
    )
    return server, database
