"""A passkey signs in without a password. A replayed, copied or foreign passkey is refused without
an error."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url

from accounts.models import AuditEvent, Passkey, PasskeyNotice, UsedChallenge, User
from accounts.sign_in.limits import SIGN_INS
from accounts.sign_in.passkeys import challenges
from accounts.sign_in.passkeys.refusals import ChallengeEnded
from database.clock import database_now
from tests.fixtures.authenticator import (
    NEW,
    SIGN_IN,
    Authenticator,
    add_passkey,
    browser_at_localhost,
    options_of,
    send,
    use_passkey,
)
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import text_of


def is_in(client: Client) -> bool:
    return client.get("/").status_code == 200


def why(client: Client, path: str = "/login/") -> str:
    return text_of(client.get(path))


def reasons() -> list[str]:
    refused = AuditEvent.objects.filter(event="passkey.refused").order_by("pk")
    return [event.detail["reason"] for event in refused]


def write_password(client: Client, **fields: str) -> Any:
    return client.post("/login/", {"username": "alice@example.com", "password": PASSWORD, **fields})


def test_it_signs_in_without_a_password_and_a_code(
    browser: Client, phone: Authenticator, alice: User
) -> None:
    answer = use_passkey(browser, SIGN_IN, phone, next="/history/?q=prices")

    assert (answer.status_code, answer["Location"]) == (303, "/history/?q=prices")
    assert is_in(browser)
    assert AuditEvent.objects.filter(event="person.signed_in", actor_id=alice.pk).count() == 1
    assert Passkey.objects.get().last_used_at is not None


def test_the_options_name_no_person_and_require_their_fingerprint(
    browser: Client, phone: Authenticator
) -> None:
    options = options_of(browser, f"{SIGN_IN}/")

    assert options["allowCredentials"] == []
    assert (options["userVerification"], options["rpId"]) == ("required", "localhost")
    cookie = browser.cookies["passkey"]
    assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Strict", 300)


def test_the_session_gets_a_new_key(browser: Client, phone: Authenticator, alice: User) -> None:
    browser.force_login(alice)
    before = browser.session.session_key

    use_passkey(browser, SIGN_IN, phone)

    assert browser.session.session_key != before


def test_it_leads_to_no_other_server(browser: Client, phone: Authenticator) -> None:
    assert use_passkey(browser, SIGN_IN, phone, next="https://evil.example/")["Location"] == "/"


def test_a_signature_works_once(browser: Client, phone: Authenticator) -> None:
    signed = phone.get(options_of(browser, f"{SIGN_IN}/"))
    cookie = browser.cookies["passkey"].value
    assert send(browser, SIGN_IN, signed)["Location"] == "/"

    again = browser_at_localhost()
    again.cookies["passkey"] = cookie
    answer = send(again, SIGN_IN, signed)

    assert answer["Location"] == "/login/"
    assert "That took too long" in why(again)
    assert not is_in(again)
    assert reasons() == ["challenge"]


def test_a_signature_for_another_browsers_challenge_is_refused(
    browser: Client, phone: Authenticator
) -> None:
    other = browser_at_localhost()
    signed = phone.get(options_of(other, f"{SIGN_IN}/"))
    options_of(browser, f"{SIGN_IN}/")

    send(browser, SIGN_IN, signed)

    assert not is_in(browser)
    assert "That passkey wasn't accepted" in why(browser)
    assert reasons() == ["invalid"]


@pytest.mark.parametrize("cookie", ["", "x", "a:b:c"])
def test_a_challenge_that_we_did_not_sign_is_refused(
    browser: Client, phone: Authenticator, cookie: str
) -> None:
    signed = phone.get(options_of(browser, f"{SIGN_IN}/"))
    browser.cookies["passkey"] = cookie

    send(browser, SIGN_IN, signed)

    assert reasons() == ["challenge"]


def test_a_challenge_lasts_five_minutes_for_one_purpose_and_one_person(
    alice: User, bob: User
) -> None:
    at, purpose = database_now(), challenges.Purpose.CONFIRM

    def take(**changed: Any) -> bytes:
        challenge, cookie = challenges.make(purpose, of=alice, at=at)
        wanted = {"purpose": purpose, "of": alice, "at": at + timedelta(minutes=4), **changed}
        assert challenges.take(cookie, **wanted) == challenge
        return challenge

    take()
    for changed in (
        {"at": at + timedelta(minutes=5, seconds=1)},
        {"purpose": challenges.Purpose.ADD},
        {"of": bob},
        {"of": None},
    ):
        with pytest.raises(ChallengeEnded):
            take(**changed)
    challenges.forget_expired(at=at + timedelta(minutes=9))
    assert UsedChallenge.objects.exists()
    challenges.forget_expired(at=at + timedelta(minutes=15))
    assert not UsedChallenge.objects.exists()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("origin", "http://localhost.evil.example"),
        ("origin", "https://localhost"),
        ("rp_id", "evil.example"),
        ("key", Authenticator().key),
    ],
)
def test_a_wrong_origin_host_or_key_is_refused(
    browser: Client, phone: Authenticator, field: str, value: Any
) -> None:
    setattr(phone, field, value)

    use_passkey(browser, SIGN_IN, phone)

    assert not is_in(browser)
    assert "That passkey wasn't accepted" in why(browser)
    assert reasons() == ["invalid"]


def test_a_number_of_megabytes_is_refused_at_once(browser: Client, phone: Authenticator) -> None:
    """The time to parse the response used to grow with the square of its length, so one form
    stopped the process for minutes."""
    signed = phone.get(options_of(browser, f"{SIGN_IN}/"))
    length = 1_200_000
    number = b"\xc4\x82\x01\xc2\x5a" + length.to_bytes(4, "big") + b"\x55" * length
    data = base64url_to_bytes(signed["response"]["authenticatorData"])
    with_extension = data[:32] + bytes([data[32] | 0x80]) + data[33:] + number
    signed["response"]["authenticatorData"] = bytes_to_base64url(with_extension)

    send(browser, SIGN_IN, signed)

    assert not is_in(browser)
    assert reasons() == ["invalid"]


def test_a_device_that_did_not_check_the_person_does_not_replace_the_password(
    browser: Client, phone: Authenticator
) -> None:
    phone.verifies = False

    use_passkey(browser, SIGN_IN, phone)

    assert not is_in(browser)
    assert "fingerprint, face or PIN" in why(browser)
    assert reasons() == ["not verified"]


def test_a_removed_passkey_is_refused(browser: Client, phone: Authenticator) -> None:
    Passkey.objects.all().delete()

    use_passkey(browser, SIGN_IN, phone)

    assert not is_in(browser)
    assert "may have been removed" in why(browser)
    assert reasons() == ["unknown"]


def test_a_deactivated_person_cannot_sign_in(browser: Client, phone: Authenticator) -> None:
    User.objects.update(is_active=False)

    use_passkey(browser, SIGN_IN, phone)

    assert not is_in(browser)
    assert reasons() == ["unknown"]


def test_a_copied_passkey_is_refused_and_its_person_told(browser: Client, alice: User) -> None:
    stick = Authenticator(count=5)
    add_passkey(browser_at_localhost(alice), stick)
    PasskeyNotice.objects.all().delete()
    use_passkey(browser, SIGN_IN, stick)
    assert is_in(browser)
    assert Passkey.objects.get().sign_count == 6

    stick.count = 3  # this copy was used fewer times than the original
    thief = browser_at_localhost()
    use_passkey(thief, SIGN_IN, stick)

    assert not is_in(thief)
    assert "seems to have a copy of it" in why(thief)
    assert reasons() == ["copied"]
    assert AuditEvent.objects.filter(event="passkey.copied").count() == 1
    assert PasskeyNotice.objects.get().kind == PasskeyNotice.Kind.COPIED
    assert Passkey.objects.get().sign_count == 6


def test_without_its_key_no_one_can_make_a_passkey_look_copied(
    browser: Client, alice: User
) -> None:
    stick = Authenticator(count=5)
    add_passkey(browser_at_localhost(alice), stick)
    PasskeyNotice.objects.all().delete()

    forged = Authenticator(count=1, credential_id=stick.credential_id)
    use_passkey(browser, SIGN_IN, forged)

    assert reasons() == ["invalid"]
    assert not PasskeyNotice.objects.exists()


@pytest.mark.parametrize(
    "text",
    [
        *("", "\x00", "null", "[]", "{}", '"x"', "{" * 5000, "[" * 100_000),
        '{"id": "a", "rawId": "a", "type": "public-key", "response": {}}',
        '{"id": "é", "rawId": "é", "type": "public-key", "response": {"clientDataJSON": "é",'
        ' "authenticatorData": "é", "signature": "é"}}',
        '{"id": "AAAA", "rawId": "AAAA", "type": "public-key", "response": {"clientDataJSON": "A",'
        ' "authenticatorData": "A", "signature": "A", "attestationObject": "A"}}',
    ],
)
def test_what_is_no_passkey_is_no_server_error(browser: Client, alice: User, text: str) -> None:
    options_of(browser, f"{SIGN_IN}/")
    alices = browser_at_localhost(alice)
    options_of(alices, NEW)

    refused = browser.post(SIGN_IN, {"credential": text})
    not_added = alices.post(NEW, {"credential": text, "name": "x"})

    assert (refused.status_code, not_added.status_code) == (303, 422)
    assert not is_in(browser)
    assert not Passkey.objects.exists()


@pytest.mark.usefixtures("_no_attempt_comes_back")
def test_attempts_are_limited_as_those_at_a_password(browser: Client, phone: Authenticator) -> None:
    right, phone.key = phone.key, Authenticator().key
    for _ in range(SIGN_INS.attempts):
        use_passkey(browser, SIGN_IN, phone)
    phone.key = right

    use_passkey(browser, SIGN_IN, phone)

    assert not is_in(browser)
    assert "Too many attempts" in why(browser)


def test_the_sign_in_page_mentions_passkeys_once_there_is_one(browser: Client, alice: User) -> None:
    assert "passkey" not in text_of(browser.get("/login/"))

    add_passkey(browser_at_localhost(alice), Authenticator())

    page = browser.get("/login/").content.decode()
    assert "Sign in with a passkey" in page
    assert "<noscript>" in page


def test_while_passwords_are_off_only_the_provider_signs_in(
    browser: Client, phone: Authenticator, settings: Any
) -> None:
    settings.WAKE_PASSWORDS = False

    assert use_passkey(browser, SIGN_IN, phone).status_code == 403

    assert not is_in(browser)
    assert "passkey" not in text_of(browser.get("/login/"))
