"""What the client of the protocol says when something is wrong, and what it keeps to itself."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import wake_client
from tests.client.test_sdk import APPROVED, ID, KEY, Server, deliver, ok
from wake_client import WakeClient


def test_an_error_says_which_server_and_what_was_wrong_there() -> None:
    server = Server(httpx.ConnectError("refused"))

    with pytest.raises(wake_client.Unavailable, match=r"wake\.example\.com .* refused") as raised:
        server.client(retry_for=0).response(ID)

    assert isinstance(raised.value.__cause__, httpx.ConnectError)


def test_an_error_names_the_fields() -> None:
    problem = {"field": "headline", "code": "max_length", "message": "At most 120 characters."}
    said = {"error": {"code": "invalid", "message": "It does not fit.", "fields": [problem]}}

    with pytest.raises(wake_client.NotAccepted, match="headline: At most 120 characters"):
        deliver(Server(ok(said, 422)).client())


@pytest.mark.parametrize("fields", [None, {}, ["headline"], 7])
def test_what_a_proxy_says_instead_is_an_error_all_the_same(fields: Any) -> None:
    said = {"error": {"code": "no", "message": "No.", "fields": fields}}

    with pytest.raises(wake_client.NotAccepted) as raised:
        deliver(Server(ok(said, 422)).client())

    assert raised.value.fields == ()


def test_a_redirect_is_not_followed_with_the_key_and_says_where_to() -> None:
    elsewhere = {"Location": "https://elsewhere.example.com/wake/v1/deliver"}
    server = Server(httpx.Response(308, headers=elsewhere))

    with pytest.raises(wake_client.NotWake, match=r"points to https://elsewhere\.example\.com"):
        deliver(server.client())

    assert [request.url.host for request in server.requests] == ["wake.example.com"]


@pytest.mark.parametrize("key", ["", " ", "wk live", "wk_\nlive", "wk_l\u00efve"])
def test_what_can_be_no_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="key") as raised:
        WakeClient("https://wake.example.com", key, agent_id="painter")

    assert "live" not in str(raised.value).replace("wk_live_...", "")


def test_another_server_that_knows_no_such_address_is_no_lost_delivery() -> None:
    server = Server(httpx.Response(404, text="<h1>Not Found</h1>"))

    with pytest.raises(wake_client.NotWake, match="Look at the endpoint"):
        server.client().response(ID)


def test_an_answer_that_cannot_be_decoded_is_one_of_our_errors() -> None:
    garbled = httpx.DecodingError("Error -3 while decompressing data")

    with pytest.raises(wake_client.Unavailable, match="decompressing"):
        Server(garbled).client(retry_for=0).response(ID)


def test_a_key_may_come_out_of_a_file() -> None:
    server = Server(ok(APPROVED))

    WakeClient(
        "https://wake.example.com",
        f"{KEY}\n",
        agent_id="painter",
        transport=httpx.MockTransport(server.answer),
    ).response(ID)

    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_what_cannot_be_sent_is_not_tried_for_two_minutes() -> None:
    server = Server(httpx.LocalProtocolError("Illegal header value b'my\\nkey'"))

    with pytest.raises(wake_client.NotAccepted, match="cannot be sent"):
        deliver(server.client())

    assert server.slept == []
