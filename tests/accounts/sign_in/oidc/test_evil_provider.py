"""A provider, or a stranger in its place, can do no harm: no wrong token signs anyone in, and no
page fails."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.http import QueryDict

from accounts.models import Identity, ProviderDocument, User
from accounts.sign_in.oidc import documents, outgoing
from accounts.sign_in.oidc.authorization import finish
from accounts.sign_in.oidc.problems import Problem, SignInExpired
from accounts.sign_in.oidc.provider import configured
from database.clock import database_now
from tests.accounts.sign_in.oidc.forged_tokens import (
    changed_after_signing,
    no_token,
    none_at_all,
    with_a_key_that_it_brings_along,
    with_an_unknown_key,
    with_the_clients_secret,
    with_the_public_key,
)
from tests.accounts.sign_in.oidc.mock_provider import Claims, MockProvider
from tests.accounts.sign_in.oidc.visitor import at_provider, leave, visit
from tests.fixtures.occupied import occupied
from tests.fixtures.strict_client import Client
from tests.inbox.person import text_of

pytestmark = pytest.mark.django_db


def signed_in(client: Client) -> bool:
    return client.get("/settings/security/").status_code == 200


def assert_refused(client: Client, answer: Any, status: int = 503) -> None:
    assert answer.status_code == status, text_of(answer)
    assert not signed_in(client)
    assert not User.objects.exists()
    assert not Identity.objects.exists()


def test_a_good_token_signs_in(provider: MockProvider, client: Client) -> None:
    answer = visit(client)

    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert signed_in(client)


WRONG: dict[str, Callable[[Claims], Claims]] = {
    "another audience": lambda claims: claims | {"aud": "other"},
    "another audience, for us": lambda claims: claims | {"aud": "other", "azp": "wake"},
    "no audience": lambda claims: claims | {"aud": []},
    "two audiences, no azp": lambda claims: claims | {"aud": ["wake", "other"]},
    "another azp": lambda claims: claims | {"aud": ["wake", "other"], "azp": "other"},
    "another azp alone": lambda claims: claims | {"azp": "other"},
    "another nonce": lambda claims: claims | {"nonce": "of another attempt"},
    "no nonce": lambda claims: {name: claims[name] for name in claims if name != "nonce"},
    "another issuer": lambda claims: claims | {"iss": "https://evil.example"},
    "issuer with a slash": lambda claims: claims | {"iss": f"{claims['iss']}/"},
    "expired": lambda claims: claims | {"exp": int(time.time()) - 120},
    "endless": lambda claims: {name: claims[name] for name in claims if name != "exp"},
    "not yet valid": lambda claims: claims | {"nbf": int(time.time()) + 600},
    "of the future": lambda claims: claims | {"iat": int(time.time()) + 600},
    "of another access token": lambda claims: claims | {"at_hash": "AAAAAAAAAAAAAAAAAAAAAA"},
    "no subject": lambda claims: claims | {"sub": ""},
    "a number as subject": lambda claims: claims | {"sub": 7},
    "a long subject": lambda claims: claims | {"sub": "s" * 256},
    "a NUL in the subject": lambda claims: claims | {"sub": "a\x00b"},
    "texts as times": lambda claims: claims | {"exp": "tomorrow"},
    "amr is no list": lambda claims: claims | {"amr": "mfa"},
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_claim_is_refused(what: str, provider: MockProvider, client: Client) -> None:
    provider.change = WRONG[what]

    assert_refused(client, visit(client))


@pytest.mark.parametrize(
    "forge",
    [
        none_at_all,
        with_the_public_key,
        with_the_clients_secret,
        with_a_key_that_it_brings_along,
        with_an_unknown_key,
        changed_after_signing,
        no_token,
    ],
)
def test_a_forged_signature_is_refused(
    forge: Callable[[MockProvider, Claims], str], provider: MockProvider, client: Client
) -> None:
    provider.sign = lambda claims: forge(provider, claims)

    assert_refused(client, visit(client))


def test_keys_can_be_rotated(provider: MockProvider, client: Client) -> None:
    visit(client)
    client.post("/logout/")
    ProviderDocument.objects.update(asked_at=database_now() - timedelta(minutes=2))
    ProviderDocument.objects.update(fetched_at=database_now() - timedelta(minutes=2))
    provider.rotate("second")

    assert visit(client).status_code == 303
    assert provider.requests["/jwks"] == 2


def test_unknown_keys_are_looked_up_once_a_minute(provider: MockProvider, client: Client) -> None:
    visit(client)
    client.post("/logout/")
    provider.sign = lambda claims: with_an_unknown_key(provider, claims)
    for _ in range(5):
        assert visit(client).status_code == 503

    assert provider.requests["/jwks"] == 1


def test_keys_are_kept_while_their_address_is_away(provider: MockProvider, client: Client) -> None:
    visit(client)
    client.post("/logout/")
    provider.answers = {
        "/jwks": (503, b""),
        "/.well-known/openid-configuration": (200, b'{"issuer": "https://evil.example"}'),
    }
    config, now = configured(), database_now()
    assert config

    for hours in (1, 2, 24 * 6):
        assert documents.keys(config, at=now + timedelta(hours=hours))
    with pytest.raises(Problem):
        documents.keys(config, at=now + timedelta(days=8))
    assert visit(client).status_code == 303


def test_a_provider_that_fails_is_asked_once_a_minute(
    provider: MockProvider, client: Client
) -> None:
    visit(client)
    provider.answers = {"/jwks": (503, b"")}
    config, later = configured(), database_now() + timedelta(hours=2)
    assert config

    for seconds in (0, 1, 59, 61, 62):
        assert documents.keys(config, at=later + timedelta(seconds=seconds))

    assert provider.requests["/jwks"] == 1 + 2


AWAY = {
    "discovery fails": {"/.well-known/openid-configuration": (500, b"oops")},
    "discovery is HTML": {"/.well-known/openid-configuration": (200, b"<html>")},
    "discovery is a list": {"/.well-known/openid-configuration": (200, b"[]")},
    "discovery is deep": {"/.well-known/openid-configuration": (200, b"[" * 200_000)},
    "discovery is no text": {"/.well-known/openid-configuration": (200, b"\xff\xfe")},
    "discovery redirects": {"/.well-known/openid-configuration": (302, b"")},
}


@pytest.mark.parametrize("what", AWAY)
def test_a_provider_that_is_away_gets_a_calm_page(
    what: str, provider: MockProvider, client: Client
) -> None:
    provider.answers = AWAY[what]

    page = client.post("/login/provider/")

    assert page.status_code == 503
    assert "Example" in text_of(page)
    assert "Back to sign-in" in text_of(page)


@pytest.mark.parametrize(
    "metadata",
    [
        {"issuer": "https://evil.example"},
        {"authorization_endpoint": "http://evil.example/authorize"},
        {"authorization_endpoint": "javascript:alert(1)"},
        {"token_endpoint": None},
        {"jwks_uri": "file:///etc/passwd"},
        {"jwks_uri": "https://["},
    ],
)
def test_a_configuration_with_unsafe_addresses_is_refused(
    metadata: Claims, provider: MockProvider, client: Client
) -> None:
    provider.metadata = metadata

    assert client.post("/login/provider/").status_code == 503
    assert not ProviderDocument.objects.exists()


ANSWERS = {
    "keys: no list": {"/jwks": (200, b'{"keys": 7}')},
    "keys: no keys": {"/jwks": (200, b'{"keys": [7, null]}')},
    "keys: empty": {"/jwks": (200, b'{"keys": []}')},
    "keys: broken": {"/jwks": (200, b'{"keys": [{"kty": "RSA", "kid": "first", "n": "-"}]}')},
    "token: HTML": {"/token": (200, b"<html>")},
    "token: empty": {"/token": (200, b"{}")},
    "token: refused": {"/token": (401, b'{"error": "invalid_client"}')},
    "token: a number": {"/token": (200, b'{"id_token": 7}')},
    "token: huge": {"/token": (200, b" " * 300_000)},
    "token: an error that is a list": {"/token": (400, b'{"error": ["x"]}')},
}


@pytest.mark.parametrize("what", ANSWERS)
def test_nonsense_gets_a_calm_page(what: str, provider: MockProvider, client: Client) -> None:
    provider.answers = ANSWERS[what]

    assert_refused(client, visit(client))


def test_redirects_are_not_followed(provider: MockProvider, client: Client) -> None:
    """A redirect could lead Wake to an address that the operator did not choose."""
    back = at_provider(leave(client))
    provider.redirects = {"/jwks": f"{provider.issuer}/other-keys"}
    keys = json.dumps({"keys": [provider.key.as_dict(private=False)]}).encode()
    provider.answers = {"/other-keys": (200, keys)}

    assert_refused(client, client.get(back))
    assert not provider.requests["/other-keys"]


def test_keys_of_any_size_are_not_read(provider: MockProvider, client: Client) -> None:
    keys = json.dumps({"keys": [provider.key.as_dict(private=False)]}).encode()
    provider.answers = {"/jwks": (200, keys + b" " * 300_000)}

    assert_refused(client, visit(client))


def test_a_slow_provider_gets_a_calm_page(
    provider: MockProvider, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A test cannot pass a time limit to the page, and the real limit is five seconds.
    monkeypatch.setattr(outgoing, "SECONDS", 0.3)
    back = at_provider(leave(client))
    provider.delays = {"/token": 5.0}
    began = time.monotonic()

    answer = client.get(back)

    assert time.monotonic() - began < 4
    assert "Example doesn't answer" in text_of(answer)
    assert_refused(client, answer)


def test_many_slow_sign_ins_do_not_occupy_every_thread(
    provider: MockProvider, client: Client
) -> None:
    back = at_provider(leave(client))

    with occupied(outgoing._slots):
        answer = client.get(back)

    assert_refused(client, answer, 503)


def test_user_info_must_be_about_the_same_subject(provider: MockProvider, client: Client) -> None:
    provider.change = lambda claims: {name: claims[name] for name in claims if name != "email"}
    info = {"sub": "n-2", "email": "boss@corp.example", "email_verified": True}
    provider.answers = {"/userinfo": (200, json.dumps(info).encode())}

    assert_refused(client, visit(client))


def test_user_info_completes_a_thin_token(provider: MockProvider, client: Client) -> None:
    thin = ("email", "email_verified", "name")
    provider.change = lambda claims: {name: claims[name] for name in claims if name not in thin}

    assert visit(client).status_code == 303
    assert User.objects.get().email == "nora@corp.example"


def test_a_state_is_used_once_and_only_in_its_own_browser(
    provider: MockProvider, client: Client
) -> None:
    back = at_provider(leave(client))
    stranger = Client()

    assert_refused(stranger, stranger.get(back), 400)
    assert client.get(back).status_code == 303
    assert client.get(back).status_code == 400
    assert provider.requests["/token"] == 1, "A used state asks for nothing."
    client.post("/logout/")
    again = client.get(back)
    assert (again.status_code, signed_in(client)) == (400, False)
    assert "This sign-in expired" in text_of(again)


def test_a_code_of_another_attempt_is_refused(provider: MockProvider, client: Client) -> None:
    """The verifier of this browser (PKCE) does not fit a stranger's code."""
    strangers = at_provider(leave(Client()))
    code = strangers.partition("code=")[2].partition("&")[0]
    own = at_provider(leave(client))
    own_code = own.partition("code=")[2].partition("&")[0]

    assert_refused(client, client.get(own.replace(own_code, code)), 400)


def test_an_answer_of_another_provider_is_refused(provider: MockProvider, client: Client) -> None:
    """RFC 9207 describes this attack, the mix-up."""
    provider.answer_issuer = "https://evil.example"
    assert_refused(client, visit(client))

    back = at_provider(leave(client))
    assert_refused(client, client.get(back.partition("&iss=")[0]))


def test_an_attempt_lasts_ten_minutes(provider: MockProvider, client: Client) -> None:
    answer = QueryDict(urlsplit(at_provider(leave(client))).query)
    example = configured()
    assert example

    with pytest.raises(SignInExpired):
        finish(client.session, example, answer, at=database_now() + timedelta(minutes=11))


@pytest.mark.parametrize("query", ["", "?state=", "?code=x", "?state=%00&code=%00", "?error=x"])
def test_a_made_up_answer_is_a_calm_page(
    query: str, provider: MockProvider, client: Client
) -> None:
    assert_refused(client, client.get(f"/login/provider/back/{query}"), 400)


def test_the_session_gets_a_new_key(provider: MockProvider, client: Client) -> None:
    address = leave(client)
    before = client.session.session_key

    client.get(at_provider(address))

    assert client.session.session_key != before


def test_the_request_has_what_protects_it(provider: MockProvider, client: Client) -> None:
    leave(client)
    at_provider(leave(client))

    asked = provider.last_authorization
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert len(asked["state"]) >= 32
    assert len(asked["nonce"]) >= 32
    assert asked["redirect_uri"] == "http://testserver/login/provider/back/"
    assert "prompt" not in asked


@pytest.mark.parametrize(
    "to", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_no_redirect_leads_elsewhere(to: str, provider: MockProvider, client: Client) -> None:
    assert visit(client, next=to)["Location"] == "/"


def test_begin_needs_a_form_of_ours(provider: MockProvider) -> None:
    strict = Client(sends_tokens=False)

    assert strict.post("/login/provider/").status_code == 403
    assert strict.get("/login/provider/").status_code == 405
    assert not provider.requests


def test_without_a_provider_there_is_only_the_sign_in_page(client: Client, settings: Any) -> None:
    settings.WAKE_OIDC_ISSUER = ""

    assert client.post("/login/provider/")["Location"] == "/login/"
    assert client.get("/login/provider/back/?state=x")["Location"] == "/login/"
    assert "provider" not in client.get("/login/").content.decode()
