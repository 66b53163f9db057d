"""Callbacks do not go to forbidden addresses or to servers with a bad certificate."""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
import trustme
from aiohttp.abc import ResolveResult

from tests.wake.callbacks.receiver import Receiver
from tests.wake.callbacks.sending import FakeDns, post
from wake.callbacks.addresses import is_public


def test_an_unknown_host_name_has_a_readable_error() -> None:
    class UnknownHost(FakeDns):
        async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    (outcome,) = post("https://nobody.example/", dns=UnknownHost())

    assert (outcome.status_code, outcome.error) == (None, "the host name could not be resolved")


def test_a_name_server_that_never_answers_delays_no_other_callback(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # The system's resolver, which no test can make slow.
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: time.sleep(20))

    started = time.monotonic()
    (outcome,) = post("https://slow.example/", deadline=0.6)

    assert outcome.error == "timed out"
    assert time.monotonic() - started < 20


DENIED = """
0.0.0.0 10.0.0.1 10.255.255.255 100.64.0.1 100.127.255.255 100.100.100.200 127.0.0.1
127.255.255.254 168.63.129.16 169.254.0.1 169.254.169.254 169.254.170.2 172.16.0.1 172.31.255.255
192.0.0.1 192.0.0.192 192.0.2.1 192.31.196.1 192.52.193.1 192.88.99.1 192.168.0.1 192.175.48.1
198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1 224.0.0.1 239.255.255.250 240.0.0.1
255.255.255.255
:: ::1 ::127.0.0.1 ::8.8.8.8 ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:169.254.169.254
::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::127.0.0.1 64:ff9b::8.8.8.8 64:ff9b:1::1 100::1
2001::1 2001:2::1 2001:10::1 2001:20::1 2001:db8::1 2002:7f00:1:: 2002:808:808:: 2620:4f:8000::1
3fff::1 5f00::1 fc00::1 fd00:ec2::254 fd20:ce::254 fe80::1 fe80::1%eth0 febf::1 fec0::1
ff02::1 ff0e::1
"""
PUBLIC = """
1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.255.255 100.128.0.1 126.255.255.255 128.0.0.1
168.63.129.17 169.253.255.255 172.15.255.255 172.32.0.1 192.0.1.1 192.167.255.255 198.17.255.255
198.20.0.1 223.255.255.255
2001:200::1 2001:4860:4860::8888 2003::1 2606:4700::1111 2a00:1450::1
"""


@pytest.mark.parametrize("address", DENIED.split())
def test_no_connection_is_made_to_a_private_address(address: str) -> None:
    dns = FakeDns([address])

    (outcome,) = post("https://hooks.example.com/", dns=dns)

    assert "private or reserved" in outcome.error
    assert dns.lookups == ["hooks.example.com"]


@pytest.mark.parametrize("address", PUBLIC.split())
def test_public_addresses_are_not_denied(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("addresses", [["8.8.8.8", "127.0.0.1"], ["2606:4700::1111", "::1"]])
def test_one_private_address_refuses_the_whole_name(addresses: list[str]) -> None:
    (outcome,) = post("https://hooks.example.com/", dns=FakeDns(addresses))

    assert "private or reserved" in outcome.error


def test_a_rebinding_name_is_resolved_once_and_its_address_pinned(
    start_receiver: Callable[..., Receiver],
) -> None:
    inside = start_receiver()
    dns = FakeDns(["127.0.0.1"], ["8.8.8.8"])

    (outcome,) = post(f"https://rebind.example:{inside.port}/", dns=dns)

    assert "private or reserved" in outcome.error
    assert dns.lookups == ["rebind.example"]
    assert inside.received == []


def test_the_connection_uses_the_checked_address(
    start_receiver: Callable[..., Receiver],
) -> None:
    """The name is looked up once: a second look-up would find no answer left."""
    receiver = start_receiver()
    dns = FakeDns(["127.0.0.1"])

    outcomes = post(*[f"http://localhost:{receiver.port}/"] * 2, dns=dns)

    assert [outcome.status_code for outcome in outcomes] == [200, 200]
    assert dns.lookups == ["localhost"]


@pytest.mark.parametrize("address", ["8.8.8.8", "10.0.0.1", "169.254.169.254"])
def test_even_in_development_localhost_is_this_machine_only(address: str) -> None:
    (outcome,) = post("http://localhost:9000/", dns=FakeDns([address]))

    assert "private or reserved" in outcome.error


def test_loopback_is_allowed_for_localhost_only() -> None:
    (outcome,) = post("https://localhost.example.com/", dns=FakeDns(["127.0.0.1"]))

    assert "private or reserved" in outcome.error


@pytest.mark.parametrize("url", ["http://localhost:9000/", "http://127.0.0.1:9000/"])
def test_outside_development_the_http_client_refuses_plain_http(settings: Any, url: str) -> None:
    settings.DEVELOPMENT = False

    (outcome,) = post(url)

    assert outcome.status_code is None
    assert outcome.error


@pytest.mark.parametrize("url", ["https://169.254.169.254/", "https://[::1]/", "not a url", ""])
def test_the_http_client_refuses_a_url_without_a_host(url: str) -> None:
    (outcome,) = post(url)

    assert outcome.status_code is None
    assert outcome.error


# TLS ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


def serving(
    authority: trustme.CA, name: str = "localhost", *, not_after: datetime | None = None
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, not_after=not_after).configure_cert(context)
    return context


def trusting(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.create_default_context()
    authority.configure_trust(context)
    return context


def test_a_good_certificate_is_accepted_for_its_name_while_the_address_is_pinned(
    start_receiver: Callable[..., Receiver], authority: trustme.CA
) -> None:
    context = serving(authority)
    asked_for: list[str | None] = []
    context.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    receiver = start_receiver(tls=context)

    (outcome,) = post(
        f"https://localhost:{receiver.port}/", dns=FakeDns(["127.0.0.1"]), tls=trusting(authority)
    )

    assert outcome.status_code == 200
    assert asked_for == ["localhost"]
    assert receiver.received[0].headers["Host"] == f"localhost:{receiver.port}"


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        ("unknown authority", "unable to get local issuer certificate"),
        ("other name", "Hostname mismatch, certificate is not valid for 'localhost'."),
        ("expired", "certificate has expired"),
        ("no TLS", "the TLS handshake failed"),
    ],
)
def test_an_invalid_certificate_sends_nothing(
    start_receiver: Callable[..., Receiver], authority: trustme.CA, fault: str, error: str
) -> None:
    context = {
        "unknown authority": serving(trustme.CA()),
        "other name": serving(authority, "other.example"),
        "expired": serving(authority, not_after=datetime(2021, 1, 1, tzinfo=UTC)),
    }.get(fault)
    receiver = start_receiver(tls=context)

    (outcome,) = post(
        f"https://localhost:{receiver.port}/",
        dns=FakeDns(["127.0.0.1"]),
        tls=trusting(authority),
    )

    assert outcome.status_code is None
    assert outcome.error.endswith(error)
    assert receiver.received == []


def test_the_systems_certificate_authorities_are_trusted_by_default(
    start_receiver: Callable[..., Receiver], authority: trustme.CA
) -> None:
    receiver = start_receiver(tls=serving(authority))

    (outcome,) = post(f"https://localhost:{receiver.port}/", dns=FakeDns(["127.0.0.1"]))

    assert outcome.error.startswith("the TLS certificate was not accepted: ")
    assert receiver.received == []
