"""A push goes only to an address that may be called."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

import pytest

from relay.models import PushConfig
from relay.protocol.fields import InvalidParams
from relay.tasks import pushes
from tests.relay.calling import queue_pushes
from tests.relay.tasks.pushes.pushing import (
    URL,
    Sent,
    State,
    move,
    push,
)
from tests.wake.callbacks.receiver import Receiver, answering
from tests.wake.callbacks.sending import FakeDns
from wake.callbacks.http_client import HttpClient
from wake.callbacks.sending import send_due
from wake.models import CallbackAttempt


@pytest.mark.parametrize(
    "url",
    [
        "http://hooks.example.com/",
        "https://10.0.0.1/",
        "https://[::1]/",
        "https://user:secret@hooks.example.com/",
        "file:///etc/passwd",
        "hooks.example.com",
    ],
)
def test_a_url_that_may_not_be_called_is_refused_at_once(sent: Sent, url: str) -> None:
    with pytest.raises(InvalidParams) as refused:
        sent(push(url=url))

    assert refused.value.field == "url"
    assert not PushConfig.objects.exists()


def test_a_host_is_resolved_when_a_push_is_sent_and_not_before(
    sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The creator of a config learns nothing about what host names resolve to on this server. The
    address is checked when a push is sent, because DNS may have changed since."""
    looked_up: list[Any] = []
    # A test may not ask a name server, and any module could make the look-up.
    monkeypatch.setattr(socket, "getaddrinfo", lambda *asked, **_: looked_up.append(asked))
    dns = FakeDns(["10.0.0.1"], ["93.184.216.34", "169.254.169.254"])

    task = sent(push(), push("theirs", url="https://rebound.example.com/"))
    assert pushes.get(task).url == URL
    assert (looked_up, dns.lookups) == ([], [])
    move(task, State.COMPLETED, "Done.")
    assert (looked_up, dns.lookups) == ([], [])
    queue_pushes()
    send_due(open_client=lambda: HttpClient(dns=dns))

    assert looked_up == []
    assert sorted(dns.lookups) == ["hooks.example.com", "rebound.example.com"]
    errors = CallbackAttempt.objects.values_list("status_code", "error")
    assert [code for code, _ in errors] == [None, None]
    assert all("resolves to a private or reserved address" in error for _, error in errors)


def test_a_push_does_not_follow_redirects(
    sent: Sent, start_receiver: Callable[..., Receiver]
) -> None:
    """A push goes only to the address that was checked."""
    first, second = start_receiver(), start_receiver()
    first.then(answering(307, Location=second.url))
    task = sent(push(url=first.url, token="saffron"))

    move(task, State.COMPLETED, "Done.")
    queue_pushes()
    send_due()

    assert (len(first.received), second.received) == (1, [])
    assert CallbackAttempt.objects.get().error == "redirects are not followed"


def test_loopback_is_for_development_only(sent: Sent, settings: Any) -> None:
    sent(push(url="http://127.0.0.1:9999/"))
    settings.DEVELOPMENT = False

    with pytest.raises(InvalidParams):
        sent(push(url="http://127.0.0.1:9999/"))
