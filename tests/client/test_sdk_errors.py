"""The errors of the SDK say what is wrong, and reveal no secret."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

import wake_client
from tests.client.test_sdk import APPROVED, ID, KEY, Server, deliver, ok
from wake_client import WakeClient


def test_an_error_names_the_server_and_its_cause() -> None:
    server = Server(httpx.ConnectError("refused"))

    with pytest.raises(wake_client.Unavailable, match=r"wake\.example\.com .* refused") as raised:
        server.client(retry_for=0).response(ID)

    assert isinstance(raised.value.__cause__, httpx.ConnectError)


def test_an_error_names_the_fields() -> None:
    problem = {"field": "headline", "code": "max_length", "message": "At most 120 characters."}
    body = {"error": {"code": "invalid", "message": "It does not fit.", "fields": [problem]}}

    with pytest.raises(wake_client.NotAccepted, match="headline: At most 120 characters"):
        deliver(Server(ok(body, 422)).client())


def test_an_error_does_not_repeat_what_its_message_says() -> None:
    problem = {"field": "headline", "code": "max_length", "message": "At most 120 characters."}
    message = "headline: At most 120 characters."
    body = {"error": {"code": "invalid_field", "message": message, "fields": [problem]}}

    with pytest.raises(wake_client.NotAccepted) as raised:
        deliver(Server(ok(body, 422)).client())

    assert str(raised.value) == f"{message} (invalid_field)"


@pytest.mark.parametrize("fields", [None, {}, ["headline"], 7])
def test_an_error_with_other_fields_is_an_error_without_fields(fields: Any) -> None:
    body = {"error": {"code": "no", "message": "No.", "fields": fields}}

    with pytest.raises(wake_client.NotAccepted) as raised:
        deliver(Server(ok(body, 422)).client())

    assert raised.value.fields == ()


def test_a_redirect_is_not_followed_and_its_target_is_named() -> None:
    elsewhere = {"Location": "https://elsewhere.example.com/wake/v1/deliver"}
    server = Server(httpx.Response(308, headers=elsewhere))

    with pytest.raises(wake_client.NotWake, match=r"points to https://elsewhere\.example\.com"):
        deliver(server.client())

    assert [request.url.host for request in server.requests] == ["wake.example.com"]


@pytest.mark.parametrize("key", ["", " ", "wk live", "wk_\nlive", "wk_l\u00efve"])
def test_an_invalid_key_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="key") as raised:
        WakeClient("https://wake.example.com", key, agent_id="painter")

    assert "live" not in str(raised.value).replace("wk_live_...", "")


def test_a_404_of_another_server_is_not_a_missing_delivery() -> None:
    server = Server(httpx.Response(404, text="<h1>Not Found</h1>"))

    with pytest.raises(wake_client.NotWake, match="Check the endpoint"):
        server.client().response(ID)


def test_a_response_that_cannot_be_decoded_raises_a_wake_error() -> None:
    garbled = httpx.DecodingError("Error -3 while decompressing data")

    with pytest.raises(wake_client.Unavailable, match="decompressing"):
        Server(garbled).client(retry_for=0).response(ID)


def test_a_key_may_end_in_a_line_break() -> None:
    server = Server(ok(APPROVED))

    WakeClient(
        "https://wake.example.com",
        f"{KEY}\n",
        agent_id="painter",
        transport=httpx.MockTransport(server.answer),
    ).response(ID)

    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_a_request_that_cannot_be_sent_is_not_retried() -> None:
    server = Server(httpx.LocalProtocolError("Illegal header value b'my\\nkey'"))

    with pytest.raises(wake_client.NotAccepted, match="cannot be sent"):
        deliver(server.client())

    assert server.slept == []


@pytest.mark.parametrize("key", ["é", "a\nb", "\ud800", "x" * 256])
def test_a_key_that_cannot_be_a_header_is_refused(key: str) -> None:
    server = Server()

    with pytest.raises(ValueError, match="1 to 255 printable ASCII characters"):
        server.client().deliver("question", "Pay?", "It is due.", idempotency_key=key)
    with pytest.raises(ValueError, match="1 to 255 printable ASCII characters"):
        server.client().claim(ID, digest="0" * 64, idempotency_key=key)

    assert server.requests == []
