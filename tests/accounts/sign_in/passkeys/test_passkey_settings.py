"""People add, name and remove their passkeys, and get a mail about each change."""

from __future__ import annotations

import json
import smtplib
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.core.management import call_command
from webauthn.helpers import bytes_to_base64url

from accounts.audit import person
from accounts.models import (
    AuditEvent,
    Passkey,
    PasskeyNotice,
    RecoveryCode,
    SecondFactor,
    Team,
    User,
)
from accounts.sign_in.browsers import session_names
from accounts.sign_in.passkeys import mails
from accounts.sign_in.passkeys.registration import MAX_PASSKEYS
from accounts.sign_in.two_step import one_time_codes, second_factor
from database.clock import database_now
from tests.accounts.sign_in.test_address import link_to_undo
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
from tests.fixtures.letters import failing_mail
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

SECURITY = "/settings/security/"


@pytest.fixture
def browser(alice: User) -> Client:
    """Returns Alice's browser."""
    return browser_at_localhost(alice)


def set_up_app(user: User) -> None:
    secret, at = one_time_codes.new_secret(), database_now()
    code = one_time_codes.code_at(secret, one_time_codes.step_at(at))
    assert second_factor.turn_on(user, secret, code, by=person(user), at=at)
    user.refresh_from_db()


def test_the_first_passkey_shows_recovery_codes_and_ends_other_sessions(
    browser: Client, alice: User
) -> None:
    elsewhere = browser_at_localhost(alice)

    shown = add_passkey(browser, Authenticator(), "Alice's phone")

    assert len(shown.context["codes"]) == 10
    assert browser.get("/").status_code == 200
    assert elsewhere.get("/").status_code == 302
    page = text_of(browser.get(SECURITY))
    assert "Alice's phone synced" in page
    assert "Two-step sign-in On" in page
    assert "10 recovery codes left." in page
    assert AuditEvent.objects.get(event="passkey.added").detail == {"name": "Alice's phone"}


def test_a_further_passkey_ends_nothing_and_keeps_the_codes(browser: Client, alice: User) -> None:
    add_passkey(browser, Authenticator())
    alice.refresh_from_db()
    elsewhere, codes = browser_at_localhost(alice), set(RecoveryCode.objects.values_list("digest"))

    answer = add_passkey(browser, Authenticator(count=0), "Stick")

    assert answer["Location"] == SECURITY
    page = text_of(browser.get(SECURITY))
    assert "Passkey added. You can sign in with it." in page
    assert "Stick one device" in page
    assert elsewhere.get("/").status_code == 200
    assert set(RecoveryCode.objects.values_list("digest")) == codes


def test_the_options_leave_out_what_a_device_has_already(browser: Client) -> None:
    add_passkey(browser, Authenticator())

    options = options_of(browser, NEW)

    assert [each["transports"] for each in options["excludeCredentials"]] == [["internal"]]
    assert options["authenticatorSelection"]["residentKey"] == "preferred"
    assert options["user"]["name"] == "alice@example.com"


def test_a_person_has_ten_at_most(browser: Client) -> None:
    for _ in range(MAX_PASSKEYS):
        add_passkey(browser, Authenticator())

    answer = add_passkey(browser, Authenticator())

    assert answer.status_code == 422
    assert "the most that one person can have" in text_of(answer)
    assert Passkey.objects.count() == MAX_PASSKEYS


def test_the_same_passkey_is_added_once(browser: Client, bob: User) -> None:
    device = Authenticator()
    add_passkey(browser, device)

    answer = add_passkey(browser_at_localhost(bob), device)

    assert answer.status_code == 422
    assert "was added before" in text_of(answer)
    assert Passkey.objects.count() == 1


@pytest.mark.parametrize(
    "device", [Authenticator(origin="http://evil.example"), Authenticator(rp_id="evil.example")]
)
def test_a_passkey_for_elsewhere_is_not_added(browser: Client, device: Authenticator) -> None:
    answer = add_passkey(browser, device)

    assert answer.status_code == 422
    assert "wasn't accepted" in text_of(answer)
    assert not Passkey.objects.exists()


def test_a_number_of_megabytes_is_refused_at_once(browser: Client) -> None:
    """The time to parse the response used to grow with the square of its length, so one form
    stopped the process for minutes."""
    created = Authenticator().create(options_of(browser, NEW))
    length = 1_200_000
    number = b"\xc4\x82\x01\xc2\x5a" + length.to_bytes(4, "big") + b"\x55" * length
    attestation = b"\xa1\x67attStmt" + number
    created["response"]["attestationObject"] = bytes_to_base64url(attestation)

    answer = send(browser, NEW, created, name="Phone")

    assert answer.status_code == 422
    assert "wasn't accepted" in text_of(answer)
    assert not Passkey.objects.exists()


def test_a_challenge_adds_one_passkey(browser: Client) -> None:
    options = options_of(browser, NEW)
    send(browser, NEW, Authenticator().create(options), name="One")

    answer = send(browser, NEW, Authenticator().create(options), name="Two")

    assert "That took too long" in text_of(answer)
    assert Passkey.objects.count() == 1


@pytest.mark.parametrize("name", ["", " ", "\u200b", "x" * 81])
def test_a_name_can_be_read(browser: Client, name: str) -> None:
    assert add_passkey(browser, Authenticator(), name).status_code == 422
    assert not Passkey.objects.exists()


def test_it_is_renamed(browser: Client) -> None:
    add_passkey(browser, Authenticator())
    path = f"{SECURITY}passkeys/{Passkey.objects.get().pk}/"

    assert browser.post(path, {"name": "Blue stick"})["Location"] == SECURITY
    assert browser.post(path, {"name": ""}).status_code == 422

    assert 'value="Blue stick"' in browser.get(path).content.decode()
    assert "Blue stick" in text_of(browser.get(SECURITY))


def test_it_is_removed_with_every_session_but_this_one(browser: Client, alice: User) -> None:
    device = Authenticator()
    add_passkey(browser, device)
    thief = browser_at_localhost()
    use_passkey(thief, SIGN_IN, device)

    path = f"{SECURITY}passkeys/{Passkey.objects.get().pk}/remove"
    asks = text_of(browser.get(path))
    answer = browser.post(path)

    assert "this turns two-step sign-in off" in asks
    assert answer["Location"] == SECURITY
    page = text_of(browser.get(SECURITY))
    assert "Passkey removed." in page
    assert "Two-step sign-in is off." in page
    assert thief.get("/").status_code == 302
    assert not RecoveryCode.objects.exists(), "There is no second step that they could replace."
    use_passkey(thief, SIGN_IN, device)
    assert thief.get("/").status_code == 302


def test_recovery_codes_stay_while_there_is_an_app(browser: Client, alice: User) -> None:
    add_passkey(browser, Authenticator())
    alice.refresh_from_db()
    set_up_app(alice)
    browser = browser_at_localhost(alice)

    browser.post(f"{SECURITY}passkeys/{Passkey.objects.get().pk}/remove")

    assert RecoveryCode.objects.count() == 10


def test_turning_the_app_off_keeps_passkeys_and_codes(browser: Client, alice: User) -> None:
    set_up_app(alice)
    browser = browser_at_localhost(alice)
    before = text_of(browser.get(f"{SECURITY}codes/off/"))
    add_passkey(browser, Authenticator())

    page, overview = text_of(browser.get(f"{SECURITY}codes/off/")), text_of(browser.get(SECURITY))
    second_factor.turn_off(alice, by=person(alice))

    assert "You'll sign in with your password alone. Your recovery codes stop working." in before
    assert "Remove the authenticator app" in page
    assert "Your passkeys and recovery codes keep working." in page
    assert "sign in without" not in page
    assert "Remove app" in overview
    assert second_factor.is_on(alice)
    assert RecoveryCode.objects.count() == 10


@pytest.mark.parametrize("path", [NEW, f"{NEW}options", "remove"])
def test_changes_ask_for_the_password_again(browser: Client, path: str) -> None:
    add_passkey(browser, Authenticator())
    session = browser.session
    session[session_names.PASSWORD] = 0
    session.save()
    if path == "remove":
        path = f"{SECURITY}passkeys/{Passkey.objects.get().pk}/remove"

    assert browser.post(path)["Location"].startswith("/sudo/")

    assert Passkey.objects.count() == 1


def test_another_persons_passkey_is_not_there(browser: Client, bob: User) -> None:
    add_passkey(browser_at_localhost(bob), Authenticator())
    path = f"{SECURITY}passkeys/{Passkey.objects.get().pk}/"

    assert browser.get(path).status_code == 404
    assert browser.post(f"{path}remove").status_code == 404
    assert Passkey.objects.count() == 1


def test_a_passkey_is_the_second_step_that_a_team_requires(
    browser: Client, alice: User, team: Team
) -> None:
    Team.objects.update(second_factor_required_at=database_now())
    assert browser.get("/")["Location"] == f"{SECURITY}codes/"
    assert "requires two-step sign-in" in text_of(browser.get(NEW))

    add_passkey(browser, Authenticator())
    assert browser.get("/").status_code == 200
    assert "alice you Owner · two-step sign-in on" in text_of(browser.get("/settings/members/"))

    browser.post(f"{SECURITY}passkeys/{Passkey.objects.get().pk}/remove")
    assert browser.get("/")["Location"] == f"{SECURITY}codes/"


def test_at_an_ip_address_the_page_says_where_passkeys_work(alice: User, settings: Any) -> None:
    client = Client(headers={"host": "127.0.0.1:8000"})
    client.force_login(alice)

    assert "Open Wake at http://localhost:8000 to use them" in text_of(client.get(NEW))
    assert client.post(f"{NEW}options").status_code == 409

    settings.WAKE_ORIGIN = "https://wake.example.com"
    assert "Open Wake at https://wake.example.com" in text_of(client.get(NEW))


def test_in_production_they_belong_to_the_public_address(alice: User, settings: Any) -> None:
    settings.WAKE_ORIGIN, settings.DEVELOPMENT = "https://wake.example.com", False
    settings.ALLOWED_HOSTS = ["wake.example.com", "localhost"]
    client = Client(SERVER_NAME="wake.example.com")
    client.force_login(alice)
    device = Authenticator(origin="https://wake.example.com", rp_id="wake.example.com")

    assert add_passkey(client, device).status_code == 200
    assert browser_at_localhost(alice).post(f"{NEW}options").status_code == 302

    settings.WAKE_ORIGIN = "https://192.0.2.1"
    assert "This one has only an IP address" in text_of(client.get(NEW))


def mailed() -> list[str]:
    sent = [str(message.subject) for message in outbox.outbox]
    outbox.outbox.clear()
    return sent


def test_the_person_hears_of_each_change_by_mail(browser: Client) -> None:
    add_passkey(browser, Authenticator(), "evil.example")
    assert mails.send_due() == 1
    body = str(outbox.outbox[0].body)
    assert "evil[.]example" in body
    assert "It can sign in without the password." in body
    assert "http://127.0.0.1:8000/settings/security/" in body
    assert mailed() == ["Wake: a passkey was added"]

    browser.post(f"{SECURITY}passkeys/{Passkey.objects.get().pk}/remove")
    assert mails.send_due() == 1
    assert mailed() == ["Wake: a passkey was removed"]
    assert mails.send_due() == 0


def test_a_notice_waits_for_the_mail_server(browser: Client) -> None:
    add_passkey(browser, Authenticator())

    with failing_mail(ConnectionRefusedError()):
        assert mails.send_due() == 0
    later = database_now() + timedelta(minutes=3)
    assert mails.send_due(clock=lambda: later) == 1

    add_passkey(browser, Authenticator())
    much_later = database_now() + timedelta(days=4)
    assert mails.send_due(clock=lambda: much_later) == 0
    assert not PasskeyNotice.objects.exists()


def test_a_refused_notice_is_not_sent_again(browser: Client) -> None:
    add_passkey(browser, Authenticator())

    with failing_mail(smtplib.SMTPRecipientsRefused({})):
        assert mails.send_due() == 0

    assert not PasskeyNotice.objects.exists()


def test_the_operator_removes_passkeys_with_the_second_factor(browser: Client, alice: User) -> None:
    add_passkey(browser, Authenticator())

    call_command("remove_second_factor", alice.email)

    assert not second_factor.is_on(alice)
    assert browser.get("/").status_code == 302


def test_a_new_password_keeps_passkeys(browser: Client, alice: User) -> None:
    """A thief who reads mail could reset the password, but has no passkey."""
    add_passkey(browser, Authenticator())

    alice.set_password("another pair of words")
    alice.save()

    assert second_factor.is_on(alice)


def test_what_a_thief_set_up_after_a_change_of_address_goes_with_it(alice: User) -> None:
    old = Authenticator()
    add_passkey(browser_at_localhost(alice), old, "Alice's own")
    alice.refresh_from_db()
    undo = link_to_undo(Person(alice))
    alice.refresh_from_db()
    thief = browser_at_localhost(alice)
    add_passkey(thief, Authenticator(), "The thief's")
    set_up_app(alice)

    Client().post(undo)

    assert Passkey.objects.get().name == "Alice's own"
    assert not SecondFactor.objects.exists()
    assert RecoveryCode.objects.count() == 10
    owner = browser_at_localhost()
    assert use_passkey(owner, SIGN_IN, old)["Location"] == "/"


def test_without_an_older_second_step_nothing_of_the_thief_remains(alice: User) -> None:
    undo = link_to_undo(Person(alice))
    alice.refresh_from_db()
    add_passkey(browser_at_localhost(alice), Authenticator())

    Client().post(undo)

    assert not second_factor.is_on(alice)
    assert not RecoveryCode.objects.exists()
    removed = AuditEvent.objects.filter(event="passkey.removed").get()
    assert json.loads(json.dumps(removed.detail)) == {"name": "Phone"}
