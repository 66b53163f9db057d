"""People sign in and out."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.hashers import MD5PasswordHasher
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import AuditEvent, User
from accounts.sign_in.limits import SIGN_INS
from tests.accounts.sign_in.test_second_factor import Authenticator
from tests.fixtures import wrapped
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery

NO_MATCH = "Wrong e-mail or password. Try again or reset your password."


def sign_in(client: Client, email: str, password: str = PASSWORD, **fields: str) -> Any:
    return client.post("/login/", {"username": email, "password": password, **fields})


def test_a_person_signs_in_by_e_mail_in_any_case(client: Client, alice: User) -> None:
    answer = sign_in(client, " Alice@Example.COM ")

    assert (answer.status_code, answer["Location"]) == (303, "/")
    assert client.get("/").status_code == 200


@pytest.mark.parametrize(("path", "field"), [("/login/", "username"), ("/login/reset/", "email")])
def test_an_address_of_combining_marks_is_refused_at_once(
    client: Client, db: None, path: str, field: str
) -> None:
    """The time to normalise an address grows with the square of its length, so a single form used
    to stop the process for minutes."""
    marks = "\u0301" * 200_000 + "\u0316" * 200_000

    answer = client.post(path, {field: f"a{marks}@example.com", "password": PASSWORD})

    assert answer.status_code == 422


@pytest.mark.parametrize("email", ["alice@example.com", "nobody@example.com", "gone@example.com"])
def test_every_pair_that_does_not_match_gets_the_same_text(
    client: Client, alice: User, email: str
) -> None:
    User.objects.create_user("gone@example.com", PASSWORD, is_active=False)
    password = PASSWORD if email.startswith("gone") else "wrong"

    answer = sign_in(client, email, password)

    assert answer.status_code == 422
    assert NO_MATCH in text_of(answer)
    assert password not in answer.content.decode()
    assert client.get("/").status_code == 302


def test_every_pair_that_does_not_match_takes_the_same_work(client: Client, alice: User) -> None:
    """A known and an unknown address need the same queries and as many hashes, so that the time
    reveals no more than the text."""
    User.objects.create_user("gone@example.com", PASSWORD, is_active=False)
    Authenticator(alice)
    work = []

    for email in ("alice@example.com", "nobody@example.com", "gone@example.com"):
        with (
            CaptureQueriesContext(connection) as queries,
            wrapped.counted(MD5PasswordHasher, "encode") as hashed,
        ):
            sign_in(client, email, "wrong")
        asked = [re.sub(r"'[^']*'|\d+", "…", query["sql"]) for query in queries]
        work.append((asked, len(hashed)))

    assert work[0] == work[1] == work[2]


def test_a_sign_in_leads_to_the_requested_page(client: Client, alice: User) -> None:
    wanted = client.get("/history/", {"q": "prices"})["Location"]

    form = client.get(wanted)
    answer = sign_in(client, alice.email, next=form.context["next"])

    assert answer["Location"] == "/history/?q=prices"


@pytest.mark.parametrize(
    ("referer", "page"),
    [
        ("http://testserver/deliveries/1/?details=raw", "/deliveries/1/?details=raw"),
        ("http://evil.example/deliveries/1/", "/"),
        ("", "/"),
        ("http://[", "/"),
    ],
)
def test_after_a_new_sign_in_a_person_returns_to_their_draft(
    client: Client, make_delivery: MakeDelivery, referer: str, page: str
) -> None:
    path = f"/deliveries/{make_delivery().pk}/response"

    answer = client.post(path, {"status": "approved"}, headers={"Referer": referer})

    assert answer.status_code == 302
    assert answer["Location"] == f"/login/?{urlencode({'next': page}, safe='/')}"


@pytest.mark.parametrize(
    "elsewhere",
    ["https://evil.example", "//evil.example", "javascript:alert(1)", "/\\evil.example"],
)
def test_signing_in_redirects_to_no_other_site(client: Client, alice: User, elsewhere: str) -> None:
    answer = sign_in(client, alice.email, next=elsewhere)

    assert answer["Location"] == "/"


@pytest.mark.parametrize(
    ("odd", "path"), [("/?q=a\r\nX: y", "/?q=a%0D%0AX:%20y"), ("/?q=\u0142", "/?q=%C5%82")]
)
def test_signing_in_redirects_to_encoded_paths(
    client: Client, alice: User, odd: str, path: str
) -> None:
    answer = sign_in(client, alice.email, next=odd)

    assert (answer.status_code, answer["Location"]) == (303, path)


def test_the_session_gets_a_new_key(client: Client, alice: User) -> None:
    client.get("/login/")
    session = client.session
    session["before"] = True
    session.save()
    before = (
        client.cookies["sessionid"].value if "sessionid" in client.cookies else session.session_key
    )

    sign_in(client, alice.email)

    assert client.session.session_key != before


def test_sign_ins_are_audited_without_what_was_typed(client: Client, alice: User) -> None:
    sign_in(client, "my-password-by-mistake", "secret-one")
    sign_in(client, alice.email, "secret-two")
    sign_in(client, alice.email)
    client.post("/logout/")

    events = AuditEvent.objects.filter(event__startswith="person.").order_by("pk")
    assert [(event.event, event.object_id) for event in events] == [
        ("person.sign_in_failed", "0"),
        ("person.sign_in_failed", str(alice.pk)),
        ("person.signed_in", str(alice.pk)),
        ("person.signed_out", str(alice.pk)),
    ]
    stored = str(list(events.values()))
    assert "my-password-by-mistake" not in stored
    assert "secret" not in stored
    assert {event.address for event in events} == {"127.0.0.1"}


@pytest.mark.usefixtures("_no_attempt_comes_back")
def test_too_many_attempts_are_refused_with_the_seconds_to_wait(
    client: Client, alice: User
) -> None:
    limit = SIGN_INS.attempts
    for _ in range(limit):
        sign_in(client, alice.email, "wrong")

    refused = sign_in(client, alice.email)

    assert refused.status_code == 429
    assert int(refused["Retry-After"]) >= 1
    assert "Too many attempts" in text_of(refused)
    assert client.get("/").status_code == 302


def test_another_person_of_the_same_network_is_not_locked_out(
    client: Client, alice: User, bob: User
) -> None:
    for _ in range(12):
        sign_in(client, alice.email, "wrong")

    answer = sign_in(client, bob.email)

    assert answer.status_code == 303


def test_failed_sign_ins_do_not_lock_another_person_out(client: Client, alice: User) -> None:
    """An attacker tries Alice's e-mail address, also from Alice's own network."""
    sign_in(client, alice.email)
    client.post("/logout/")
    other_browser = Client()

    refused = [sign_in(other_browser, alice.email, "wrong").status_code for _ in range(25)]
    hers = sign_in(client, alice.email)

    assert 429 in refused
    assert hers.status_code == 303


def test_failed_sign_ins_from_many_addresses_are_slowed_down_together(
    client: Client, alice: User, settings: Any
) -> None:
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"
    client.post("/login/", {"username": alice.email, "password": PASSWORD})
    client.post("/logout/")

    codes = [
        Client()
        .post(
            "/login/",
            {"username": alice.email, "password": "wrong"},
            HTTP_X_REAL_IP=f"192.0.2.{number}",
        )
        .status_code
        for number in range(130)
    ]

    assert codes[:50] == [422] * 50
    assert 429 in codes
    assert sign_in(client, alice.email).status_code == 303


def test_the_known_browser_is_limited_too(client: Client, alice: User) -> None:
    """The cookie alone does not sign in, and a thief of the cookie gets no additional tries."""
    sign_in(client, alice.email)
    client.post("/logout/")

    codes = [sign_in(client, alice.email, "wrong").status_code for _ in range(25)]

    assert 429 in codes


@pytest.mark.parametrize("cookie", ["", "made up", "a:b:c"])
def test_a_forged_cookie_makes_no_browser_known(client: Client, alice: User, cookie: str) -> None:
    client.cookies["known"] = cookie

    codes = [sign_in(client, alice.email, "wrong").status_code for _ in range(25)]

    assert 429 in codes
    assert "known" not in client.get("/login/").cookies


def test_a_browser_is_known_for_each_of_its_users(client: Client, alice: User, bob: User) -> None:
    for person in (alice, bob):
        sign_in(client, person.email)
        client.post("/logout/")
    other_browser = Client()
    for _ in range(25):
        sign_in(other_browser, alice.email, "wrong")
        sign_in(other_browser, bob.email, "wrong")

    for person in (alice, bob):
        assert sign_in(client, person.email).status_code == 303
        client.post("/logout/")


def test_guesses_do_not_fill_the_audit(client: Client, alice: User, settings: Any) -> None:
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"
    for number in range(50):
        email = alice.email if number % 2 else f"nobody{number}@example.com"
        form = {"username": email, "password": "wrong"}
        Client().post("/login/", form, HTTP_X_REAL_IP=f"2001:db8::{number:x}")

    stored = AuditEvent.objects.filter(event="person.sign_in_failed").count()

    assert 20 <= stored <= 40, "One network of IPv6 is one guesser; a new hour may begin meanwhile."


def test_signing_out_takes_a_post_and_ends_the_session(alices: Person) -> None:
    assert alices.get("/logout/").status_code == 405

    answer = alices.client.post("/logout/")

    assert answer["Location"] == "/login/"
    assert answer["Clear-Site-Data"] == '"storage"'
    assert alices.get("/").status_code == 302


def test_a_form_from_another_site_is_refused_with_a_page(alice: User) -> None:
    strict = Client(sends_tokens=False)

    answer = sign_in(strict, alice.email)

    assert answer.status_code == 403
    assert "this form has expired" in text_of(answer)


def test_a_signed_in_person_is_redirected_to_the_inbox(alices: Person) -> None:
    assert alices.get("/login/")["Location"] == "/"


def test_the_sign_in_page_is_not_cached(client: Client, db: None) -> None:
    assert "no-store" in client.get("/login/")["Cache-Control"]
