"""A client whose id is an address describes itself there. The server reads the document safely
(draft-ietf-oauth-client-id-metadata-document)."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from datetime import timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import httpx
import pytest
from oauth2_provider.models import Application

from accounts.models import Agent, OAuthGrant, User
from accounts.oauth.registration.metadata import as_public_client
from database.clock import database_now
from tests.accounts.oauth import metadata_documents
from tests.accounts.oauth.consenting import Consent, served_at_its_origin
from tests.accounts.oauth.metadata_documents import CHATGPT, CLAUDE, DOCUMENTS, REGISTRATIONS
from tests.accounts.oauth.oauth_client import OAuthClient
from tests.accounts.oauth.sites import Sites, as_json
from tests.accounts.oauth.test_sign_in import PeoplesClient
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of
from tests.wake.callbacks.receiver import Behaviour, Receiver, answering
from tests.wake.callbacks.sending import DEADLINE, PATIENCE
from wake.server.telemetry.lines import LineFormatter

REDIRECT = "https://client.example/callback"
ID = "https://client.example/oauth/client.json"
PLAIN = {"client_id": ID, "client_name": "Example Chat", "redirect_uris": [REDIRECT]}


def named(document: dict[str, Any], **options: Any) -> OAuthClient:
    """Returns a client with this document, which comes back to the first address in it."""
    client = OAuthClient(document["redirect_uris"][0], **options)
    client.client_id = document["client_id"]
    return client


def unread(answer: Any) -> bool:
    """Returns whether the page says that the client's document is the problem."""
    return answer.status_code == 400 and "describes itself in a document" in text_of(answer)


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda each: each["client_name"])
def test_the_document_of_a_real_client_is_read(
    sites: Sites, alice: User, agent: Agent, document: dict[str, Any]
) -> None:
    sites.publish(document)
    client = named(document)

    got = client.tokens(alice, agent)

    assert PeoplesClient(got["access_token"]).ask("tools/list").status_code == 200
    assert sites.asked == [document["client_id"]]
    stored = Application.objects.get()
    assert (stored.client_id, stored.name) == (document["client_id"], document["client_name"])
    assert stored.redirect_uris.split() == document["redirect_uris"]
    assert (stored.client_type, stored.authorization_grant_type) == ("public", "authorization-code")
    assert OAuthGrant.objects.get().client_name == document["client_name"]


@pytest.mark.parametrize("body", REGISTRATIONS, ids=lambda each: each["client_name"])
def test_a_real_client_registers(db: None, body: dict[str, Any]) -> None:
    client = OAuthClient(body["redirect_uris"][0])

    answer = client.register(**body)

    assert answer.status_code == 201, answer.content
    got = answer.json()
    assert got["grant_types"] == ["authorization_code", "refresh_token"]
    assert got["redirect_uris"] == body["redirect_uris"]
    assert bool(client.client_secret) == (body["token_endpoint_auth_method"] != "none")
    assert got.get("client_secret_expires_at") == (0 if client.client_secret else None)
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_client_that_changes_its_registration_is_reduced_again(registered: OAuthClient) -> None:
    """RFC 7592"""
    made = OAuthClient().register().json()
    changed = {**metadata_documents.VS_CODE_REGISTRATION, "client_name": "Renamed"}

    answer = registered.client.put(
        f"/oauth/register/{made['client_id']}",
        changed,
        content_type="application/json",
        headers={"Authorization": f"Bearer {made['registration_access_token']}"},
    )

    assert answer.status_code == 200, answer.content
    assert answer.json()["client_name"] == "Renamed"
    assert answer.json()["grant_types"] == ["authorization_code", "refresh_token"]


@pytest.mark.parametrize(
    "grants",
    [["client_credentials"], ["refresh_token"], ["password", "implicit"], [], "x", [3, {}]],
)
def test_a_registration_without_codes_is_refused(db: None, grants: Any) -> None:
    answer = OAuthClient().register(grant_types=grants)

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_client_metadata"
    assert "authorization_code" in answer.json()["error_description"]


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "\udc00x", "\U0001f600\ud83d"])
def test_a_name_that_no_database_stores_is_refused(db: None, name: str) -> None:
    answer = OAuthClient(name=name).register()

    assert answer.status_code == 400
    assert answer.json()["error"] == "invalid_client_metadata"


def test_a_name_with_a_character_of_two_halves_is_stored(db: None) -> None:
    assert OAuthClient(name="Chat \U0001f600").register().status_code == 201


@pytest.mark.parametrize(
    ("document", "method"),
    [
        ({}, None),
        ({"token_endpoint_auth_method": "none"}, "none"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "private_key_jwt"),
        (CHATGPT, "none"),
        (
            {
                "token_endpoint_auth_method": "private_key_jwt",
                "token_endpoint_auth_methods_supported": ["private_key_jwt"],
            },
            "private_key_jwt",
        ),
        (
            {
                "token_endpoint_auth_method": "private_key_jwt",
                "token_endpoint_auth_methods_supported": "none",
            },
            "private_key_jwt",
        ),
    ],
)
def test_a_client_without_authentication_is_public(
    document: dict[str, Any], method: str | None
) -> None:
    assert as_public_client(document).get("token_endpoint_auth_method") == method


def never(request: BaseHTTPRequestHandler) -> None:
    time.sleep(4 * DEADLINE)


def dripping(request: BaseHTTPRequestHandler) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.send_header("Content-Length", "1000")
    request.end_headers()
    for _ in range(30):
        request.wfile.write(b" ")
        time.sleep(DEADLINE / 10)


def html(status: int) -> Behaviour:
    return answering(status, b"<html>Just a moment", Content_Type="text/html")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(html(403), id="403"),
        pytest.param(html(200), id="html"),
        pytest.param(answering(200, b"{", Content_Type="application/json"), id="no JSON"),
        pytest.param(as_json([PLAIN]), id="list"),
        pytest.param(answering(200, b"[" * 10_000, Content_Type="application/json"), id="deep"),
        pytest.param(as_json({**PLAIN, "x": "y" * 16_384}), id="too long"),
        pytest.param(as_json({**PLAIN, "client_id": "https://claude.ai/x"}), id="other id"),
        pytest.param(as_json({**PLAIN, "client_id": ID + "#"}), id="almost the id"),
        pytest.param(as_json({**PLAIN, "client_secret": "x"}), id="secret"),
        pytest.param(as_json({**PLAIN, "redirect_uris": []}), id="no redirect"),
        pytest.param(as_json({**PLAIN, "redirect_uris": [3]}), id="number as redirect"),
        pytest.param(as_json({**PLAIN, "redirect_uris": ["javascript:x"]}), id="script"),
        pytest.param(as_json({**PLAIN, "client_name": 3}), id="number as name"),
        pytest.param(as_json({**PLAIN, "client_name": "a\0b"}), id="U+0000"),
        pytest.param(as_json({**PLAIN, "client_name": "\ud800"}), id="half a character"),
        pytest.param(as_json({**PLAIN, "client_name": "x" * 256}), id="long name"),
        pytest.param(
            as_json({**PLAIN, "token_endpoint_auth_method": "private_key_jwt"}), id="key only"
        ),
        pytest.param(as_json({**PLAIN, "grant_types": ["client_credentials"]}), id="no codes"),
        *(
            pytest.param(answering(status, Location=CLAUDE["client_id"]), id=f"redirect {status}")
            for status in (301, 302, 307)
        ),
        pytest.param(answering(302, Location="https://127.0.0.1/x"), id="redirect inward"),
    ],
)
def test_a_document_that_cannot_be_used_is_a_page_that_says_so(
    sites: Sites, alice: User, answer: Behaviour
) -> None:
    sites.publish(CLAUDE)
    sites.answers[ID] = answer

    page = Person(alice).get(named(PLAIN).address())

    assert unread(page)
    assert "client.example" in text_of(page)
    assert "Wait a minute, then start again" in text_of(page)
    assert "Location" not in page.headers
    assert sites.asked == [ID]
    assert not Application.objects.exists()


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize("answer", [never, dripping])
def test_a_slow_server_is_left(
    use_sites: Callable[..., Sites], alice: User, answer: Behaviour
) -> None:
    use_sites(deadline=DEADLINE).answers[ID] = answer
    browser = Person(alice)

    before = time.monotonic()
    assert unread(browser.get(named(PLAIN).address()))

    assert time.monotonic() - before < PATIENCE
    gc.collect()  # the other server has not closed its side of TLS, so the connection stays open


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "100.64.0.1", "169.254.169.254"),
        *("::1", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "64:ff9b::a9fe:a9fe", "0.1.2.3"),
    ],
)
def test_a_name_that_leads_inward_is_not_asked(
    use_sites: Callable[..., Sites], alice: User, address: str
) -> None:
    sites = use_sites(address=address)
    sites.publish(PLAIN)

    assert unread(Person(alice).get(named(PLAIN).address()))

    assert sites.asked == []


@pytest.mark.parametrize(
    "client_id",
    [
        *("https://127.0.0.1/c.json", "https://10.0.0.1/c.json", "https://[::1]/c.json"),
        *("https://169.254.169.254/latest/meta-data", "https://2130706433/c.json"),
        *("https://0x7f.1/c.json", "https://localhost/c.json", "https://client.example"),
        *("https://client.example/", "https://client.example/a/../b", "https://client.example/#x"),
        *("https://user@client.example/c", "https://client.example:0/c", "https://[x/c"),
        *("https://client.example:99999/c", "https://127.0.0.1:8000/c", "https:///c"),
        *("https://\u0441lient.example/c.json", "https://client.example/\u0441.json"),
        *("https://client.example/" + "x" * 300, "https://client.example/a\0b", "HTTPS://x/y z"),
    ],
)
def test_an_address_that_no_client_may_have_is_not_asked(
    sites: Sites, settings: Any, alice: User, client_id: str
) -> None:
    settings.DEVELOPMENT = False  # else a developer may use their own machine

    page = Person(alice).get(named({**PLAIN, "client_id": client_id}).address())

    assert page.status_code == 400
    assert "Nothing was connected" in text_of(page)
    assert "Location" not in page.headers
    assert sites.asked == []


def test_a_changed_document_holds_after_its_stay(sites: Sites, alice: User, agent: Agent) -> None:
    other = "https://client.example/other"
    sites.publish({**PLAIN, "redirect_uris": [REDIRECT, other]}, Cache_Control="max-age=600")
    client, leaving = named(PLAIN), named({**PLAIN, "redirect_uris": [other]})
    browser = Person(alice)
    assert browser.get(leaving.address()).status_code == 200

    sites.publish(PLAIN)
    assert browser.get(leaving.address()).status_code == 200  # the first document still holds
    Application.objects.update(cimd_expires_at=a_second_ago())

    refused = browser.get(leaving.address())
    assert refused.status_code == 400
    assert "isn't valid" in text_of(refused)
    assert browser.get(client.address()).status_code == 200
    assert sites.asked == [ID, ID]


def test_the_last_good_document_holds_while_the_site_is_away(sites: Sites, alice: User) -> None:
    sites.publish(PLAIN)
    browser = Person(alice)
    assert browser.get(named(PLAIN).address()).status_code == 200
    Application.objects.update(cimd_expires_at=a_second_ago())
    sites.answers[ID] = html(503)

    assert browser.get(named(PLAIN).address()).status_code == 200


def test_the_log_says_why_a_document_was_not_used(
    sites: Sites, alice: User, caplog: pytest.LogCaptureFixture
) -> None:
    sites.answers[ID] = html(403)

    with caplog.at_level("INFO", "oauth2_provider.cimd"):
        Person(alice).get(named(PLAIN).address())

    (line,) = [LineFormatter().format(each) for each in caplog.records if "CIMD" in each.msg]
    assert ID in line
    assert "no document: 403" in line


def test_a_site_that_failed_is_not_asked_again_at_once(sites: Sites, alice: User) -> None:
    sites.answers[ID] = html(403)
    browser = Person(alice)
    assert unread(browser.get(named(PLAIN).address()))
    sites.publish(PLAIN)

    assert unread(browser.get(named(PLAIN).address()))

    assert sites.asked == [ID]


@pytest.mark.parametrize(
    ("cache_control", "seconds"),
    [
        *(("", 3600), ("max-age=600", 600), ("max-age=1", 300), ("max-age=999999", 3600)),
        *(("no-store", 300), ("no-cache, max-age=900", 300), ("max-age=x", 3600)),
        ("Max-Age = 900", 900),
    ],
)
def test_a_document_holds_as_long_as_its_site_says_within_limits(
    sites: Sites, alice: User, cache_control: str, seconds: int
) -> None:
    sites.publish(PLAIN, Cache_Control=cache_control)

    before = database_now()
    assert Person(alice).get(named(PLAIN).address()).status_code == 200

    stay = Application.objects.get().cimd_expires_at - before
    assert seconds <= stay.total_seconds() < seconds + 60


def test_a_person_names_so_many_new_documents_an_hour(sites: Sites, alice: User) -> None:
    browser = Person(alice).client
    for number in range(30):
        browser.get(named({**PLAIN, "client_id": f"{ID}?{number}"}).address())
    sites.publish(PLAIN)

    refused = browser.get(named(PLAIN).address())

    assert refused.status_code == 429
    assert 0 < int(refused.headers["Retry-After"]) <= 3600
    assert "too many new clients" in text_of(refused)
    assert len(sites.asked) == 30
    assert not Application.objects.exists()


def test_no_site_is_asked_before_the_person_has_signed_in(
    sites: Sites, client: Client, alice: User
) -> None:
    sites.publish(PLAIN)
    stranger = named(PLAIN)

    answer = client.get(stranger.address())
    assert answer.status_code == 302
    assert answer.headers["Location"].startswith("/login/")
    assert stranger.exchange("x").json()["error"] in {"invalid_client", "invalid_grant"}
    assert stranger.refresh("x").json()["error"] in {"invalid_client", "invalid_grant"}
    assert stranger.revoke("x").status_code in {200, 401}

    assert sites.asked == []


def test_a_stale_document_is_not_fetched_for_a_token(
    sites: Sites, alice: User, agent: Agent
) -> None:
    sites.publish(PLAIN)
    client = named(PLAIN)
    got = client.tokens(alice, agent)
    Application.objects.update(cimd_expires_at=a_second_ago())

    assert client.refresh(got["refresh_token"]).status_code == 200

    assert sites.asked == [ID]


def test_the_page_names_the_site_that_vouches_for_the_client(sites: Sites, alice: User) -> None:
    sites.publish(CLAUDE)

    page = Person(alice).get(named(CLAUDE).address())

    assert "Connect Claude" in text_of(page)
    assert "claude.ai" in text_of(page)


@pytest.mark.system
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("interface", ["wsgi", "asgi"])
def test_a_real_server_reads_a_document(
    start_receiver: Callable[..., Receiver], alice: User, agent: Agent, interface: str
) -> None:
    """The other server has no TLS, so that the document cannot be read. It is this machine, which
    only development allows."""
    port = start_receiver().port
    with served_at_its_origin(interface) as origin:
        address = named({**PLAIN, "client_id": f"https://127.0.0.1:{port}/c.json"}).address()
        page = httpx.get(origin + address, cookies=Consent(alice, agent).cookies, timeout=60)

    assert page.status_code == 400
    assert "describes itself in a document at 127.0.0.1" in page.text


def a_second_ago() -> Any:
    return database_now() - timedelta(seconds=1)
