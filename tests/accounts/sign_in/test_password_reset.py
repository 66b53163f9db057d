"""A person resets a password by a mailed link, and no step reveals who has an account."""

from __future__ import annotations

import re
import smtplib
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import AuditEvent, ResetRequest, User
from accounts.sign_in.passwords import resets as password_resets
from accounts.sign_in.two_step import second_factor
from tests.accounts.sign_in.test_second_factor import Authenticator
from tests.accounts.sign_in.test_sessions import is_in
from tests.fixtures.letters import failing_mail
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

NEW = "another pair of words"


def ask(client: Client, email: str = "alice@example.com", **extra: Any) -> Any:
    return client.post("/login/reset/", {"email": email}, **extra)


def link_in_the_mail() -> str:
    """Returns the path of the last mailed link."""
    link_match = re.search(r"http://[^/]+(/login/reset/\S+)", str(outbox.outbox[-1].body))
    assert link_match
    return link_match[1]


def open_link(client: Client) -> str:
    """Returns the address of the form. This address no longer has the token."""
    path: str = client.get(link_in_the_mail())["Location"]
    return path


def choose(client: Client, path: str, first: str = NEW, second: str = NEW) -> Any:
    return client.post(path, {"new_password1": first, "new_password2": second})


@pytest.fixture
def mailed(client: Client, alice: User) -> Client:
    """Opens the link from Alice's mail in Alice's browser."""
    ask(client)
    password_resets.send_due()
    return client


def test_a_link_in_a_mail_leads_to_a_new_password(mailed: Client, alice: User) -> None:
    path = open_link(mailed)
    assert path.endswith("/set-password/")
    assert "New password" in text_of(mailed.get(path))

    changed = choose(mailed, path)

    assert (changed.status_code, changed["Location"]) == (303, "/login/")
    assert "Password changed" in text_of(mailed.get("/login/"))
    assert mailed.get("/").status_code == 302, "Nobody is signed in by a mail."
    assert mailed.post("/login/", {"username": alice.email, "password": NEW})["Location"] == "/"


def test_the_sign_in_page_links_to_the_password_reset(client: Client, db: None) -> None:
    assert 'href="/login/reset/"' in client.get("/login/").content.decode()
    assert "Send link" in text_of(client.get("/login/reset/"))


def test_the_mail_names_its_recipient_and_no_one_else(mailed: Client) -> None:
    [sent] = outbox.outbox

    assert sent.to == ["alice@example.com"]
    assert sent.subject == "Wake: reset your password"
    assert "alice@example.com at http://" in str(sent.body)
    assert "60 minutes" in str(sent.body)
    assert "!" not in str(sent.body)
    assert "List-Unsubscribe" not in sent.message()


def test_known_and_unknown_addresses_get_the_same_page_and_the_same_work(
    client: Client, alice: User
) -> None:
    User.objects.create_user("gone@example.com", PASSWORD, is_active=False)
    answers, work = [], []
    for email in ("alice@example.com", "nobody@example.com", "gone@example.com"):
        with CaptureQueriesContext(connection) as queries:
            answer = ask(client, email)
            page = client.get(answer["Location"])
        answers.append((answer.status_code, answer["Location"], text_of(page)))
        work.append([re.sub(r"'[^']*'|\d+", "…", query["sql"]) for query in queries])

    assert answers[0] == answers[1] == answers[2]
    assert work[0] == work[1] == work[2]
    assert not [sql for sql in work[0] if "accounts_user" in sql], "Nobody is looked up."
    assert outbox.outbox == [], "The worker sends it."
    password_resets.send_due()
    assert [sent.to for sent in outbox.outbox] == [["alice@example.com"]]
    assert not ResetRequest.objects.exists()


def test_an_address_counts_in_any_case(client: Client, alice: User) -> None:
    ask(client, " Alice@Example.COM")

    assert password_resets.send_due() == 1


def test_a_link_works_once(mailed: Client) -> None:
    path = open_link(mailed)
    choose(mailed, path)

    again, in_another = mailed.get(link_in_the_mail()), Client().get(link_in_the_mail())

    for page in (again, in_another):
        assert page.status_code == 410
        assert "This link no longer works" in text_of(page)
    assert choose(mailed, path, "yet another one", "yet another one").status_code == 410


@pytest.mark.parametrize("what", ["sign in", "everywhere", "age", "switched off", "made up"])
def test_a_link_stops(mailed: Client, alice: User, settings: Any, what: str) -> None:
    link = link_in_the_mail()
    match what:
        case "sign in":
            Client().login(username=alice.email, password=PASSWORD)
        case "everywhere":
            Person(alice).client.post("/settings/security/everywhere")
        case "age":
            settings.PASSWORD_RESET_TIMEOUT = -1
        case "switched off":
            User.objects.update(is_active=False)
        case "made up":
            link = link.replace("-", "-0", 1)

    assert mailed.get(link).status_code == 410


def test_a_new_password_ends_every_session(mailed: Client, alice: User) -> None:
    phone = Person(alice)
    ask(mailed)
    password_resets.send_due()

    choose(mailed, open_link(mailed))

    assert not is_in(phone)


def test_the_new_password_is_typed_twice_and_validated(mailed: Client, alice: User) -> None:
    path = open_link(mailed)

    for first, second, words in [
        (NEW, "a different one", "The passwords don't match"),
        ("short", "short", "too short"),
        ("alice@example.com", "alice@example.com", "too similar"),
    ]:
        refused = choose(mailed, path, first, second)
        assert refused.status_code == 422
        assert words in text_of(refused)
        assert f'value="{first}"' not in refused.content.decode() or first == alice.email
    alice.refresh_from_db()
    assert alice.check_password(PASSWORD)


def test_a_reset_keeps_the_second_factor(mailed: Client, alice: User) -> None:
    Authenticator(alice)
    User.objects.filter(pk=alice.pk).update(last_login=None)
    ask(mailed)
    password_resets.send_due()
    assert "code from your app" in str(outbox.outbox[-1].body)
    choose(mailed, open_link(mailed))

    answer = mailed.post("/login/", {"username": alice.email, "password": NEW})

    assert answer["Location"] == "/login/code/"
    assert second_factor.is_on(alice)


def test_a_reset_ends_a_lockout_that_others_caused(mailed: Client, alice: User) -> None:
    browser = Client()
    for _ in range(70):
        browser.post("/login/", {"username": alice.email, "password": "wrong"})

    choose(mailed, open_link(mailed))

    answer = mailed.post("/login/", {"username": alice.email, "password": NEW})
    assert answer.status_code == 303


def test_the_number_of_mails_to_one_address_is_limited(
    client: Client, alice: User, settings: Any
) -> None:
    settings.WAKE_CLIENT_ADDRESS = "HTTP_X_REAL_IP"

    codes = {ask(client, HTTP_X_REAL_IP=f"192.0.2.{number}").status_code for number in range(20)}

    assert codes == {303}, "And nothing tells that."
    assert 3 <= password_resets.send_due() <= 6


def test_requests_from_one_network_are_limited(client: Client, db: None) -> None:
    codes = [ask(client, f"person{number}@example.com").status_code for number in range(25)]

    refused = ask(client)
    assert codes[:10] == [303] * 10
    assert 429 in codes
    if refused.status_code == 429:
        assert "Too many attempts" in text_of(refused)
        assert int(refused["Retry-After"]) >= 1


@pytest.mark.parametrize(
    "email", ["", "alice", "a@b", "x" * 300 + "@example.com", "a\x00@b.example"]
)
def test_an_invalid_address_is_explained(client: Client, db: None, email: str) -> None:
    assert ask(client, email).status_code == 422
    assert not ResetRequest.objects.exists()


def test_each_step_is_audited(mailed: Client, alice: User) -> None:
    choose(mailed, open_link(mailed))

    events = AuditEvent.objects.order_by("pk").values_list("event", "actor_kind", "object_id")
    assert list(events) == [
        ("person.reset_mailed", "nobody", str(alice.pk)),
        ("person.password_set", "person", str(alice.pk)),
    ]
    assert NEW not in str(list(AuditEvent.objects.values()))
    assert {event.address for event in AuditEvent.objects.all()} == {"127.0.0.1"}


def test_while_no_mail_server_answers_the_request_waits(client: Client, alice: User) -> None:
    now = timezone.now()
    ask(client)
    with failing_mail(OSError("away")):
        assert password_resets.send_due() == 0
    assert password_resets.send_due(clock=lambda: now + timedelta(minutes=1)) == 0

    assert password_resets.send_due(clock=lambda: now + timedelta(minutes=5)) == 1
    assert len(outbox.outbox) == 1


def test_a_request_is_dropped_after_an_hour(client: Client, alice: User) -> None:
    ask(client)

    assert password_resets.send_due(clock=lambda: timezone.now() + timedelta(minutes=61)) == 0
    assert not ResetRequest.objects.exists()


def test_a_mail_that_is_refused_is_not_sent_again(client: Client, alice: User) -> None:
    ask(client)

    with failing_mail(smtplib.SMTPRecipientsRefused({})):
        assert password_resets.send_due() == 0

    assert not ResetRequest.objects.exists()


def test_without_a_mail_server_the_page_says_so(client: Client, alice: User, settings: Any) -> None:
    settings.WAKE_SENDS_MAIL = False

    assert "This server can't send e-mail" in text_of(client.get("/login/reset/"))
    assert ask(client).status_code == 303
    assert not ResetRequest.objects.exists()


def test_where_mail_is_printed_the_page_sends_no_one_to_their_inbox(
    client: Client, alice: User, settings: Any
) -> None:
    """The page used to tell people to look for an e-mail, even on a server that sends no mail."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

    page = text_of(client.get(ask(client)["Location"]))

    assert "Check the server's log" in page
    assert "we printed a link" in page
    assert "e-mail" not in page.split("Check the server's log")[1]
