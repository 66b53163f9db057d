"""Measures how many requests of each kind a core carries, and how many two processes carry at
once."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import urlencode

import psycopg

from bench import hot_paths, pages
from bench.tools import http_load, processes, servers
from bench.tools.results import Row

WARM_UP = 40
PROCESSES = 2
MEGABYTE = 2**20
APPLICATION = "wake.server.web:application", "--interface", "asginl"
FORM_TOKEN = "a" * 32  # the token in the cookies of bench/scenes/full_inbox.py
WAITING = (
    "SELECT id, content_hash FROM wake_delivery"
    " WHERE answered_at IS NULL AND acknowledged_at IS NULL"
)
Cost = tuple[float, float]  # CPU milliseconds of the server and of PostgreSQL for a request


@dataclass(frozen=True, slots=True)
class Requests:
    """Holds the requests of an agent and of a person, by their names, and an answer to each of many
    deliveries."""

    usual: dict[str, bytes]
    answers: list[bytes]


def measure(*, requests: int, rounds: int, deliveries: int) -> list[Row]:
    (key,) = servers.make_database("bench", deliveries=deliveries)
    servers.acknowledge_all()
    servers.manage("collectstatic", "--noinput", "-v0")
    cookie, delivery = pages.fill_inbox("home")
    with servers.granian(*APPLICATION) as (port, pid):
        idle = processes.memory_of_tree(pid)
        usual = _requests(port, key, cookie, delivery)
        costs = {name: _cost(port, pid, usual[name], requests, rounds) for name in usual}
        costs["answer"] = _answers(port, pid, "home", count=requests // 4, rounds=rounds)
        memory = processes.memory_of_tree(pid)
    with servers.granian(*APPLICATION, "--workers", str(PROCESSES)) as (port, _):
        rates = {name: _rate(port, usual[name], requests, rounds) for name in ("delivery", "poll")}
    note = f"PSS after the requests, {idle / MEGABYTE:.0f} MB before"
    return [
        *(_row(name, cost) for name, cost in costs.items()),
        *(_together(name, rate) for name, rate in rates.items()),
        Row("a web process, memory", memory / MEGABYTE, None, unit=" MB", note=note),
    ]


def _requests(port: int, key: str, cookie: str, delivery: str) -> dict[str, bytes]:
    body = json.dumps(hot_paths.BODY).encode()
    deliver = http_load.request_bytes("POST", "/wake/v1/deliver", key, body)
    pk = json.loads(http_load.once(port, deliver))["delivery_id"]
    return {
        # The pages come first, because each delivery makes the list longer.
        "list page, 50 rows": pages.get("/", cookie),
        "delivery page": pages.get(f"/deliveries/{delivery}/", cookie),
        "poll": http_load.request_bytes("GET", f"/wake/v1/response/{pk}", key),
        "delivery": deliver,
    }


def _cost(port: int, pid: int, request: bytes, times: int, rounds: int) -> Cost:
    http_load.load(port, request, WARM_UP)
    return _medians(lambda: pages.milliseconds(port, pid, request, times), rounds)


def _answers(port: int, pid: int, team: str, *, count: int, rounds: int) -> Cost:
    """Approves so many deliveries in each round, each by the form of its page."""
    cookie, _ = pages.fill_inbox(team, rows=count * rounds)
    with psycopg.connect(servers.DATABASE) as connection:
        waiting = connection.execute(WAITING).fetchall()
    forms = [_answer(str(pk), content_hash, cookie) for pk, content_hash in waiting]
    shares = iter([forms[number * count : (number + 1) * count] for number in range(rounds)])

    def measure_once() -> Cost:
        before = processes.cpu_of_tree(pid), processes.cpu_of_database(servers.DATABASE)
        http_load.load_each(port, next(shares))
        after = processes.cpu_of_tree(pid), processes.cpu_of_database(servers.DATABASE)
        server, database = ((b - a) / count * 1e3 for a, b in zip(before, after, strict=True))
        return server, database

    return _medians(measure_once, rounds)


def _answer(delivery: str, content_hash: str, cookie: str) -> bytes:
    fields = {"status": "approved", "feedback": "", "content_hash": content_hash}
    body = urlencode(fields | {"csrfmiddlewaretoken": FORM_TOKEN}).encode()
    lines = [
        f"POST /deliveries/{delivery}/response HTTP/1.1",
        "Host: 127.0.0.1",
        f"Cookie: {cookie}",
        "Content-Type: application/x-www-form-urlencoded",
        f"Content-Length: {len(body)}",
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _medians(measure_once: Callable[[], Cost], rounds: int) -> Cost:
    server, database = zip(*(measure_once() for _ in range(rounds)), strict=True)
    return statistics.median(server), statistics.median(database)


def _rate(port: int, request: bytes, times: int, rounds: int) -> float:
    """Returns the requests a second of all processes, while this program sends them from the same
    cores."""
    http_load.load(port, request, WARM_UP)
    rates = []
    for _ in range(rounds):
        began = time.perf_counter()
        http_load.load(port, request, times)
        rates.append(times / (time.perf_counter() - began))
    return statistics.median(rates)


def _row(name: str, cost: Cost) -> Row:
    server, database = cost
    note = f"of a core; {server:.2f} ms of the server, {database:.2f} ms of PostgreSQL"
    return Row(f"{name}, a second", 1e3 / (server + database), None, unit="/s", note=note)


def _together(name: str, rate: float) -> Row:
    note = f"measured on {os.cpu_count()} cores, with PostgreSQL and the sender of the requests"
    return Row(f"{name}, {PROCESSES} processes", rate, None, unit="/s", note=note)
