"""The HTTP client handles hostile servers and host names safely."""

from __future__ import annotations

import gzip
import os
import socket
import struct
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.sending import BODY, DEADLINE, HEADERS, PATIENCE, post


def test_a_request_has_only_the_given_body_and_headers(
    start_receiver: Callable[..., Receiver],
) -> None:
    receiver = start_receiver()

    (outcome,) = post(f"http://localhost:{receiver.port}/a%2Fb/../c?d=%7E&e=1+1&f=a%20b")

    assert (outcome.status_code, outcome.error, outcome.answer) == (200, "", "ok")
    (arrival,) = receiver.received
    assert arrival.body == BODY
    assert arrival.path == "/a%2Fb/../c?d=%7E&e=1+1&f=a%20b"
    assert arrival.headers == HEADERS | {
        "Host": f"localhost:{receiver.port}",
        "User-Agent": "Wake/1.0",
        "Accept": "*/*",
        "Accept-Encoding": "identity",
        "Content-Length": str(len(BODY)),
    }


QUOTED = "/waits/abcdef0123/go?signature=abc%2Fdef456&run=run-77654321"


@pytest.mark.parametrize(
    ("answer", "stored"),
    [
        (f"Cannot POST {QUOTED}", "Cannot POST …"),
        ("no /waits/abcdef0123/go here", "no /waits/…/go here"),
        (r'{"path": "\/waits\/abcdef0123\/go"}', r'{"path": "\/waits\/…\/go"}'),
        ("signature abc/def456 is wrong", "signature … is wrong"),
        ("run-77654321&amp;signature=abc%2Fdef456", "…&amp;signature=…"),
        ("x" * 2040 + "abcdef0123", "x" * 2040 + "…"),
        ("waits go run", "waits go run"),
    ],
)
def test_an_answer_is_kept_without_the_parts_of_the_url(
    start_receiver: Callable[..., Receiver], answer: str, stored: str
) -> None:
    receiver = start_receiver()
    receiver.then(answering(404, answer.encode()))

    (outcome,) = post(f"http://127.0.0.1:{receiver.port}{QUOTED}")

    assert outcome.answer == stored


@pytest.mark.parametrize("end", ["\r\n", "\n", "\r", "\0"])
def test_a_header_with_a_line_break_is_not_sent(
    start_receiver: Callable[..., Receiver], end: str
) -> None:
    receiver = start_receiver()

    (outcome,) = post(receiver.url, headers={"Authorization": f"Bearer a{end}X-Wake: b"})

    assert outcome.error == "A header of this callback contains a line break."
    assert receiver.received == []


# Servers ------------------------------------------------------------------------------------------


def hang(request: BaseHTTPRequestHandler) -> None:
    time.sleep(DEADLINE * 2)


def drip(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    for _ in range(30):
        request.wfile.write(b".")
        time.sleep(DEADLINE / 10)


def drip_headers(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    for number in range(30):
        request.wfile.write(b"X-%d: 1\r\n" % number)
        time.sleep(DEADLINE / 10)


@pytest.mark.parametrize("behaviour", [hang, drip, drip_headers])
def test_one_deadline_covers_the_whole_answer(
    start_receiver: Callable[..., Receiver], behaviour: Any
) -> None:
    receiver = start_receiver()
    receiver.then(behaviour)

    started = time.monotonic()
    (outcome,) = post(receiver.url, deadline=DEADLINE)

    assert (outcome.status_code, outcome.error) == (None, "timed out")
    assert DEADLINE <= time.monotonic() - started < PATIENCE
    assert DEADLINE * 1000 <= outcome.took_ms < PATIENCE * 1000


def test_an_unaccepted_connection_has_the_same_deadline() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()):
            (outcome,) = post(f"http://127.0.0.1:{full.getsockname()[1]}/", deadline=DEADLINE)

    assert (outcome.status_code, outcome.error) == (None, "timed out")


def never_end(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Transfer-Encoding", "chunked")
    request.end_headers()
    request.server.sent = 0  # type: ignore[attr-defined]
    while True:
        request.wfile.write(b"2000\r\n" + b"x" * 8192 + b"\r\n")
        request.server.sent += 8192  # type: ignore[attr-defined]


def test_only_the_start_of_an_endless_answer_is_read(
    start_receiver: Callable[..., Receiver],
) -> None:
    receiver = start_receiver()
    receiver.then(never_end)

    (outcome,) = post(receiver.url)

    assert outcome.status_code == 200
    assert outcome.answer == "x" * 2048


def bomb(request: BaseHTTPRequestHandler) -> None:
    body = gzip.compress(b"\0" * 20_000_000)
    answering(200, body, Content_Encoding="gzip")(request)


def test_a_compressed_answer_stays_compressed(start_receiver: Callable[..., Receiver]) -> None:
    receiver = start_receiver()
    receiver.then(bomb)

    (outcome,) = post(receiver.url)

    assert outcome.status_code == 200
    assert len(outcome.answer) <= 2048
    assert "\0" not in outcome.answer


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(start_receiver: Callable[..., Receiver], status: int) -> None:
    elsewhere, receiver = start_receiver(), start_receiver()
    receiver.then(answering(status, Location=elsewhere.url))

    (outcome,) = post(receiver.url)

    assert (outcome.status_code, outcome.error) == (status, "redirects are not followed")
    assert elsewhere.received == []


def give_hints_first(request: BaseHTTPRequestHandler) -> None:
    request.send_response_only(103)
    request.end_headers()
    answering(200, b"done")(request)


def test_an_interim_answer_is_passed_over(start_receiver: Callable[..., Receiver]) -> None:
    receiver = start_receiver()
    receiver.then(give_hints_first)

    (outcome,) = post(receiver.url)

    assert (outcome.status_code, outcome.answer) == (200, "done")


def answer_twice(request: BaseHTTPRequestHandler) -> None:
    one = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    request.wfile.write(one + one.replace(b"200 OK", b"500 No"))


def test_an_answer_that_was_not_asked_for_is_not_the_next_ones(
    start_receiver: Callable[..., Receiver],
) -> None:
    receiver = start_receiver()
    receiver.then(answer_twice)

    outcomes = post(receiver.url, receiver.url)

    assert [outcome.status_code for outcome in outcomes] == [200, 200]


def test_a_connection_is_used_again(start_receiver: Callable[..., Receiver]) -> None:
    receiver = start_receiver()

    outcomes = post(*[receiver.url] * 3)

    assert [outcome.status_code for outcome in outcomes] == [200] * 3
    assert len({arrival.port for arrival in receiver.received}) == 1


def cut(request: BaseHTTPRequestHandler) -> None:
    request.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    os.close(request.connection.detach())


def close_politely(request: BaseHTTPRequestHandler) -> None:
    request.close_connection = True


def break_off(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b"half")
    request.close_connection = True


def babble(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"220 smtp.example.com ESMTP\r\n")


def shout(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 1_000_000 + b"\r\n\r\n")


def many_headers(request: BaseHTTPRequestHandler) -> None:
    request.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        request.wfile.write(b"X-More: 1\r\n" * 1_000)


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (cut, "the server closed the connection without an answer"),
        (close_politely, "the server closed the connection without an answer"),
        (break_off, "the answer was incomplete"),
        (babble, "the answer was not valid HTTP"),
        (shout, "the answer was not valid HTTP"),
        (many_headers, "the answer was not valid HTTP"),
    ],
)
def test_a_broken_answer_has_a_readable_error(
    start_receiver: Callable[..., Receiver], behaviour: Any, error: str
) -> None:
    receiver = start_receiver()
    receiver.then(behaviour)

    (outcome,) = post(receiver.url)

    assert (outcome.status_code, outcome.error) == (None, error)


def test_a_refused_connection_has_a_readable_error() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]

    (outcome,) = post(f"http://127.0.0.1:{port}/")

    assert (outcome.status_code, outcome.error) == (None, "could not connect: Connection refused")


def test_the_answer_is_stored_as_text_for_every_database(
    start_receiver: Callable[..., Receiver],
) -> None:
    receiver = start_receiver()
    receiver.then(answering(500, "né\x00\x1b[31m\u202e\tb\n".encode() + b"\xff\xed\xa0\x80"))

    (outcome,) = post(receiver.url)

    assert outcome.answer == "né[31m\tb\n" + "\ufffd" * 4


def test_cookies_are_not_kept(start_receiver: Callable[..., Receiver]) -> None:
    receiver = start_receiver()
    receiver.then(answering(200, Set_Cookie="session=1"))

    post(receiver.url, receiver.url)

    assert "Cookie" not in receiver.received[1].headers


def test_the_environments_proxies_and_netrc_are_not_used(
    start_receiver: Callable[..., Receiver], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    proxy, receiver = start_receiver(), start_receiver()
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, proxy.url)
        monkeypatch.setenv(name.lower(), proxy.url)
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))

    (outcome,) = post(receiver.url)

    assert outcome.status_code == 200
    assert "Authorization" not in receiver.received[0].headers
    assert proxy.received == []
