"""A person changes the address with which they sign in. The old address gets a mail and can undo
the change."""

from __future__ import annotations

import re
import smtplib
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox

from accounts.models import AddressChange, AuditEvent, User
from accounts.sign_in.addresses import changes as address_changes
from accounts.sign_in.addresses import mails as address_mails
from accounts.sign_in.browsers import session_names
from accounts.sign_in.passwords import resets as password_resets
from database.clock import database_now
from tests.accounts.sign_in.test_sessions import is_in
from tests.accounts.teams.test_joining import invite, link_on, sign_up
from tests.fixtures.letters import failing_mail
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

NEW = "alice@new.example.com"


@pytest.fixture
def alices(alice: User) -> Person:
    return Person(alice)


def ask(person: Person, email: str = NEW, *, by_hand: bool = False) -> Any:
    return person.client.post("/settings/address/", {"email": email}, by_hand=by_hand)


def mailed_link() -> str:
    """Returns the path of the link in the last mail."""
    found = re.search(r"http://[^/]+(/\S+)", str(outbox.outbox[-1].body).partition("\n\n")[2])
    assert found
    return found[1]


def link_to_confirm(person: Person, email: str = NEW) -> str:
    ask(person, email)
    assert address_mails.send_due() == 1
    return mailed_link()


def link_to_undo(person: Person) -> str:
    person.client.post(link_to_confirm(person))
    assert address_mails.send_due() == 1
    return mailed_link()


def events() -> list[str]:
    names = AuditEvent.objects.filter(event__startswith="person.").order_by("pk")
    return list(names.values_list("event", flat=True))


def test_a_change_that_is_asked_for_while_another_is_confirmed_can_be_confirmed(
    alices: Person, alice: User
) -> None:
    """One request reads the person, and then another request changes the person's address."""
    User.objects.filter(pk=alice.pk).update(email="alice@another.example.com")

    change = address_changes.ask(alice, NEW, at=database_now())

    assert address_changes.confirm(change, at=database_now()).email == NEW


def test_the_new_address_confirms_and_the_old_one_is_told(alices: Person, alice: User) -> None:
    asked = ask(alices, " Alice@New.Example.com ")
    assert (asked.status_code, asked["Location"]) == (303, "/settings/profile/")
    address_mails.send_due()
    alice.refresh_from_db()
    assert alice.email == "alice@example.com", "Nothing changes before the link is used."
    assert outbox.outbox[-1].to == [NEW]
    path = mailed_link()
    assert "you sign in as alice@new.example.com" in text_of(alices.get(path))

    changed = alices.client.post(path)

    alice.refresh_from_db()
    assert (changed["Location"], alice.email) == ("/settings/profile/", NEW)
    assert address_mails.send_due() == 1
    told = outbox.outbox[-1]
    assert told.to == ["alice@example.com"]
    assert "alice@new[.]example[.]com".replace("@", "[@]") in str(told.body)
    assert address_mails.send_due() == 0
    assert events() == ["person.address_asked", "person.address_changed"]
    signed_in = Client().post("/login/", {"username": NEW, "password": PASSWORD})
    assert signed_in["Location"] == "/"


def test_a_link_works_once(alices: Person) -> None:
    path = link_to_confirm(alices)
    alices.client.post(path)

    ended = alices.get(path)
    assert ended.status_code == 410
    assert "or it's for a different account" in text_of(ended)
    assert "Go to your profile" in text_of(ended)
    assert alices.client.post(path).status_code == 410


def test_other_devices_are_signed_out(alices: Person, alice: User) -> None:
    other = Person(alice)

    alices.client.post(link_to_confirm(alices))

    assert is_in(alices)
    assert not is_in(other)


def test_a_link_is_of_use_to_its_person_alone(alices: Person, alice: User, bob: User) -> None:
    """A stranger who reads a mistyped address must not get the account."""
    path = link_to_confirm(alices)

    assert Person(bob).client.post(path).status_code == 410
    assert Client().post(path)["Location"].startswith("/login/?next=")
    alice.refresh_from_db()
    assert alice.email == "alice@example.com"


def test_it_asks_for_the_password_again(alices: Person) -> None:
    session = alices.client.session
    session[session_names.PASSWORD] = 0
    session.save()

    assert ask(alices)["Location"].startswith("/sudo/")
    assert alices.get("/settings/address/")["Location"].startswith("/sudo/")
    assert not AddressChange.objects.exists()


def test_the_address_of_another_person_looks_like_any_other(alices: Person, bob: User) -> None:
    free = ask(alices, "bob@example.com")

    assert (free.status_code, free["Location"]) == (303, "/settings/profile/")
    assert address_mails.send_due() == 0
    assert outbox.outbox == []


def test_an_address_that_was_taken_meanwhile_is_not_changed(alices: Person, alice: User) -> None:
    path = link_to_confirm(alices)
    User.objects.create_user(NEW, PASSWORD)

    assert alices.client.post(path).status_code == 410

    alice.refresh_from_db()
    assert alice.email == "alice@example.com"


def test_a_link_expires_within_the_hour(alices: Person, alice: User) -> None:
    path = link_to_confirm(alices)
    AddressChange.objects.update(asked_at=database_now() - timedelta(hours=1))

    assert alices.client.post(path).status_code == 410
    address_mails.send_due()
    assert not AddressChange.objects.exists(), "Addresses are not kept for longer than needed."


def test_a_newer_wish_replaces_the_older(alices: Person, alice: User) -> None:
    first = link_to_confirm(alices)
    second = link_to_confirm(alices, "alice@other.example.com")

    assert alices.client.post(first).status_code == 410
    alices.client.post(second)
    alice.refresh_from_db()
    assert alice.email == "alice@other.example.com"


@pytest.mark.parametrize(
    ("email", "problem"),
    [
        ("", "Enter your new address."),
        ("alice", "Enter an address such as"),
        ("ALICE@example.com", "You sign in with this address already."),
        # Each of these signs stands for four letters.
        ("a@" + ".".join(["\u337f" * 4] * 48) + ".com", "at most 254 characters (it has 821)"),
    ],
)
def test_a_wrong_address_is_explained(email: str, problem: str, alices: Person) -> None:
    refused = ask(alices, email)

    assert refused.status_code == 422
    assert problem in text_of(refused)
    assert not AddressChange.objects.exists()


def test_an_address_is_read_as_the_sign_in_reads_it(alices: Person, alice: User) -> None:
    spelled = "alice@\uff4eew.example.com"  # a full-width n

    alices.client.post(link_to_confirm(alices, spelled))

    signed_in = Client().post("/login/", {"username": spelled, "password": PASSWORD})
    assert signed_in["Location"] == "/"


def test_a_server_without_mail_says_so(alices: Person, settings: Any) -> None:
    settings.WAKE_SENDS_MAIL = False

    assert "This server can't send e-mail, so it can't check a new address" in text_of(
        alices.get("/settings/address/")
    )
    ask(alices, by_hand=True)
    assert not AddressChange.objects.exists()


def test_mails_to_one_address_are_limited(alices: Person) -> None:
    for _ in range(3):
        assert ask(alices)["Location"] == "/settings/profile/"
        address_mails.send_due()

    refused = ask(alices)
    address_mails.send_due()

    assert (refused.status_code, len(outbox.outbox)) == (429, 3)
    assert 0 < int(refused["Retry-After"]) <= 3_600
    assert re.search(
        r"Nothing was sent: we e-mailed this address too often\. Try again in \d+ (h|min|s)\.",
        text_of(refused),
    )


def test_the_old_address_undoes_the_change(alices: Person, alice: User) -> None:
    path = link_to_undo(alices)
    thief = alices
    assert path.startswith("/login/address/")
    page = text_of(Client().get(path))
    assert "sign in as alice@example.com again" in page

    restored = Client().post(path)

    alice.refresh_from_db()
    assert (restored["Location"], alice.email) == ("/login/", "alice@example.com")
    assert not is_in(thief)
    for email in (NEW, alice.email):
        refused = Client().post("/login/", {"username": email, "password": PASSWORD})
        assert refused.status_code == 422
    assert password_resets.send_due() == 1
    assert outbox.outbox[-1].to == ["alice@example.com"]
    assert "reset your password" in outbox.outbox[-1].subject
    assert "person.address_restored" in events()
    assert Client().post(path).status_code == 410


def test_the_first_address_outlives_a_second_change(alices: Person, alice: User) -> None:
    """A thief changes the address twice, so that the mail about the second change goes to the thief
    and not to Alice."""
    path = link_to_undo(alices)
    alices.client.post(link_to_confirm(alices, "thief@example.com"))

    Client().post(path)

    alice.refresh_from_db()
    assert alice.email == "alice@example.com"
    assert not AddressChange.objects.exists()


def test_an_undo_ends_after_a_week(alices: Person, alice: User) -> None:
    path = link_to_undo(alices)
    AddressChange.objects.update(confirmed_at=database_now() - timedelta(days=7))

    ended = Client().get(path)
    assert ended.status_code == 410
    assert "If someone else changed your address, ask your administrator" in text_of(ended)
    assert "Sign in" in text_of(ended)
    assert "profile" not in text_of(ended)
    assert "another account" not in text_of(ended)
    assert Client().post(path).status_code == 410
    alice.refresh_from_db()
    assert alice.email == NEW


def test_an_old_address_of_another_person_by_now_is_not_taken(alices: Person, alice: User) -> None:
    path = link_to_undo(alices)
    User.objects.create_user("alice@example.com", PASSWORD)

    assert Client().post(path).status_code == 410
    alice.refresh_from_db()
    assert alice.email == NEW
    assert alice.has_usable_password()


def test_an_address_that_can_be_restored_is_kept(alices: Person, alice: User) -> None:
    """If a thief could sign up with Alice's old address, she could no longer restore the
    address."""
    path = link_to_undo(alices)
    thief = alices
    invitation = link_on(invite(thief))

    refused = sign_up(Client(), invitation, email="Alice@example.com")

    assert refused["Location"].startswith("/login/?next="), "It looks like any known address."
    assert Client().post(path).status_code == 303
    alice.refresh_from_db()
    assert alice.email == "alice@example.com"


def test_an_address_is_free_a_week_after_it_was_left(alices: Person) -> None:
    link_to_undo(alices)
    invitation = link_on(invite(alices))
    AddressChange.objects.update(confirmed_at=database_now() - timedelta(days=7))

    assert sign_up(Client(), invitation, email="alice@example.com")["Location"] == "/"
    assert User.objects.filter(email="alice@example.com").exists()


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("nothing", 410),
        ("wk_mail_" + "a" * 36, 410),
        ("wk_mail_" + "é" * 36, 410),
        ("%00", 404),
    ],
)
@pytest.mark.parametrize("path", ["/settings/address/", "/login/address/"])
def test_a_made_up_link_is_of_no_use(path: str, text: str, status: int, alices: Person) -> None:
    assert alices.get(f"{path}{text}/").status_code == status


def test_a_mail_waits_while_the_mail_server_is_away(alices: Person) -> None:
    ask(alices)
    with failing_mail(smtplib.SMTPServerDisconnected()):
        assert address_mails.send_due() == 0
    now = database_now()

    assert address_mails.send_due(clock=lambda: now + timedelta(minutes=1)) == 0
    assert address_mails.send_due(clock=lambda: now + timedelta(minutes=5)) == 1
    assert "confirm" in alices.get(mailed_link()).content.decode().lower()


def test_a_reset_link_of_the_old_address_ends_with_it(alices: Person, alice: User) -> None:
    Client().post("/login/reset/", {"email": alice.email})
    password_resets.send_due()
    reset = re.search(r"http://[^/]+(/login/reset/\S+)", str(outbox.outbox[-1].body))
    assert reset

    alices.client.post(link_to_confirm(alices))

    assert Client().get(reset[1], follow=True).status_code == 410
