"""An invited person joins a team, and no page reveals who has an account."""

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

from accounts.models import AuditEvent, Invitation, Team, User
from accounts.sign_in.browsers import session_names
from accounts.teams import invitation_mails
from tests.fixtures.letters import failing_mail
from tests.fixtures.people import PASSWORD
from tests.fixtures.strict_client import Client
from tests.inbox.person import Person, text_of

INVITE = "/settings/members/garden/invite/"
NEW = "another pair of words"
LINK = re.compile(r"http://[^/\s]+(/join/wk_join_\w{36}/)")


def invite(alices: Person, **fields: Any) -> Any:
    form = {"role": "reviewer", "email": "", "version": Invitation.objects.count(), **fields}
    return alices.client.post(INVITE, form)


def link_on(page: Any) -> str:
    link_match = LINK.search(page.content.decode())
    assert link_match
    return link_match[1]


def link_in_the_mail() -> str:
    link_match = LINK.search(str(outbox.outbox[-1].body))
    assert link_match
    return link_match[1]


def sign_up(client: Client, path: str, **fields: Any) -> Any:
    form = {"display_name": "Nora", "email": "nora@example.com"}
    return client.post(path, {**form, "new_password1": NEW, "new_password2": NEW, **fields})


@pytest.fixture
def link(alices: Person) -> str:
    return link_on(invite(alices))


def test_a_link_is_shown_once(alices: Person) -> None:
    page = invite(alices)
    again = alices.client.post(INVITE, {"role": "reviewer", "version": 0})

    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    assert "Copy it now. You won't see it again." in text_of(page)
    assert (again.status_code, Invitation.objects.count()) == (410, 1)
    assert "No longer visible" in text_of(again)
    assert "You already created this invitation." in text_of(again)
    assert not LINK.search(again.content.decode())
    listed = alices.get("/settings/members/")
    assert "By link" in text_of(listed)
    assert not LINK.search(listed.content.decode())


def test_a_person_with_an_account_joins(link: str, mallory: User, team: Team) -> None:
    mallorys = Person(mallory)
    page = text_of(mallorys.get(link))
    assert "Join Garden" in page
    assert "alice invited you to join as reviewer" in page
    assert "signed in as mallory@example.com. Team owners will see this address." in page

    joined = mallorys.client.post(link, follow=True)

    assert joined.redirect_chain == [("/", 303)]
    assert "You joined Garden." in text_of(joined)
    assert team.memberships.get(user=mallory).role == "reviewer"
    assert "mallory joined the team, invited by alice" in text_of(mallorys.get("/audit/"))


def test_a_new_person_enters_their_details_and_is_signed_in(link: str, team: Team) -> None:
    browser = Client()
    asked = text_of(browser.get(link))
    assert "Already have an account?" in asked
    assert "Used to sign in. Team owners can see it." in asked

    signed_up = sign_up(browser, link)
    assert (signed_up.status_code, signed_up["Location"]) == (303, "/")
    first = browser.get("/")

    assert first.status_code == 200
    assert "You joined Garden." in text_of(first)
    nora = User.objects.get(email="nora@example.com")
    assert (nora.display_name, nora.memberships.get().role) == ("Nora", "reviewer")
    events = AuditEvent.objects.filter(actor_id=str(nora.pk)).order_by("pk")
    assert [event.event for event in events] == [
        "person.added",
        "membership.joined",
        "person.signed_in",
    ]
    assert NEW not in str(list(AuditEvent.objects.values()))


def test_the_owner_of_a_known_address_signs_in_first(
    alices: Person, mallory: User, team: Team
) -> None:
    """Joining signs in only a person whose address is new
    (docs/decisions/0035-joining-signs-in.md)."""
    gone = User.objects.create_user("gone@example.com", PASSWORD, is_active=False)
    answers = []
    for user in (mallory, gone):
        browser, link = Client(), link_on(invite(alices))
        answer = sign_up(browser, link, email=user.email)
        assert answer["Location"] == f"/login/?next={link.replace('/', '%2F')}"
        assert browser.get("/").status_code == 302
        answers.append((answer.status_code, text_of(browser.get(answer["Location"]))))

    assert answers[0] == answers[1]
    assert "Sign in to join, with the password of your account." in answers[0][1]
    mallory.refresh_from_db()
    assert mallory.check_password(PASSWORD)
    assert not team.memberships.filter(user__in=[mallory, gone]).exists()


def test_inviting_an_address_tells_its_owner_nothing(
    alices: Person, mallory: User, settings: Any
) -> None:
    settings.WAKE_SENDS_MAIL = False
    pages, work = [], []
    for email in (mallory.email, "nobody@example.com"):
        with CaptureQueriesContext(connection) as queries:
            page = invite(alices, email=email)
        link = link_on(page)
        text = text_of(page) + text_of(Client().get(link))
        text = text.replace(link, "").replace(email, "")
        pages.append(re.sub(r"\d+", "…", text))  # the minute in which the invitation expires
        work.append([re.sub(r"'[^']*'|\d+", "…", query["sql"]) for query in queries])

    assert pages[0] == pages[1]
    assert work[0] == work[1]


def test_where_mail_is_printed_the_link_is_shown_instead(alices: Person, settings: Any) -> None:
    """In development, mail is printed, and only the person who runs the server would read it."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"

    form = text_of(alices.get(INVITE))
    page = invite(alices, email="nora@example.com")

    assert "this server can't send e-mail" in form
    assert "Send it only to nora@example.com" in text_of(page)
    assert sign_up(Client(), link_on(page)).status_code == 303
    assert Invitation.objects.get().mail_due_at is None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"new_password1": "short", "new_password2": "short"}, "too short"),
        ({"new_password2": "a different one"}, "The passwords don't match"),
        (dict.fromkeys(["new_password1", "new_password2"], "nora@example.com"), "too similar"),
        ({"display_name": " "}, "Enter your name"),
        ({"display_name": "No\u2028ra"}, "Control characters"),
        ({"email": "nora"}, "such as you@example.com"),
        ({"email": ""}, "Enter your e-mail"),
    ],
)
def test_invalid_input_is_explained(fields: dict[str, str], words: str, link: str) -> None:
    refused = sign_up(Client(), link, **fields)

    assert refused.status_code == 422
    assert words in text_of(refused)
    assert not User.objects.filter(email="nora@example.com").exists()
    assert Invitation.objects.get().accepted_at is None


@pytest.mark.parametrize("what", ["used", "taken back", "made up", "no link at all"])
def test_an_expired_link_does_not_work(what: str, alices: Person, link: str) -> None:
    invitation = Invitation.objects.get()
    match what:
        case "used":
            sign_up(Client(), link)
        case "taken back":
            path = f"/settings/members/garden/invitations/{invitation.pk}/revoke"
            assert alices.client.post(path).status_code == 303
            assert "expires" not in text_of(alices.get("/settings/members/"))
        case "made up":
            link = link[:-2] + ("A/" if link[-2] != "A" else "B/")
        case _:
            link = "/join/any/"
    before = User.objects.count()

    for answer in (
        Client().get(link),
        sign_up(Client(), link, email="otto@example.com"),
        alices.get(link),
        alices.client.post(link),
    ):
        assert answer.status_code == 410
        assert "This link no longer works" in text_of(answer)
        assert "Garden" not in text_of(answer)
    assert User.objects.count() == before


def test_a_member_sees_a_message_and_leaves_the_invitation_open(
    alices: Person, bobs: Person, link: str
) -> None:
    assert "You're already in this team." in text_of(bobs.get(link))
    assert "You're already in this team." in text_of(bobs.client.post(link, follow=True))
    assert bobs.user.memberships.get().role == "reviewer"
    assert Client().get(link).status_code == 200


def test_an_invitation_goes_by_mail(alices: Person, mallory: User, team: Team) -> None:
    sent = invite(alices, email="Nora@Example.com", role="owner")

    assert (sent.status_code, sent["Location"]) == (303, "/settings/members/")
    assert outbox.outbox == [], "The worker sends it."
    assert "sending e-mail" in text_of(alices.get("/settings/members/"))
    assert invitation_mails.send_due() == 1
    assert invitation_mails.send_due() == 0
    [mail] = outbox.outbox
    assert mail.to == ["nora@example.com"]
    assert mail.subject == "Wake: invitation"
    assert "alice invited you to join Garden on Wake" in str(mail.body)
    assert "!" not in str(mail.body)
    assert "mailed" in text_of(alices.get("/settings/members/"))
    page = Client().get(link_in_the_mail())
    assert "You'll sign in as nora@example.com." in text_of(page)
    assert sign_up(Client(), link_in_the_mail(), email="other@example.com").status_code == 303
    assert team.memberships.get(user__email="nora@example.com").role == "owner"


def test_a_form_that_is_sent_twice_mails_once_and_says_so(alices: Person) -> None:
    first, second = (invite(alices, email="Nora@example.com", version=0) for _ in range(2))

    assert (first.status_code, second.status_code) == (303, 303)
    words = "Invitation sent to nora@example.com."
    assert words in text_of(alices.get(second["Location"]))
    assert Invitation.objects.count() == 1


def test_an_owner_who_invites_at_the_same_time_sees_a_conflict(
    alices: Person, bobs: Person
) -> None:
    bobs.user.memberships.update(role="owner")
    invite(alices)

    beside = invite(bobs, version=0)

    assert beside.status_code == 410
    assert "If someone else created one at the same moment, yours was not created." in text_of(
        beside
    )
    assert Invitation.objects.count() == 1


def test_names_in_a_mail_are_not_links(alices: Person, team: Team) -> None:
    Team.objects.filter(pk=team.pk).update(name="Win https://evil.example now")

    invite(alices, email="nora@example.com")
    invitation_mails.send_due()

    assert "https[:]//evil[.]example" in str(outbox.outbox[0].body)
    assert "evil.example" not in str(vars(outbox.outbox[0])["alternatives"])


def test_while_no_mail_server_answers_the_invitation_waits(alices: Person) -> None:
    now = timezone.now()
    invite(alices, email="nora@example.com")
    with failing_mail(OSError("away")):
        assert invitation_mails.send_due() == 0
    assert invitation_mails.send_due(clock=lambda: now + timedelta(minutes=1)) == 0

    assert invitation_mails.send_due(clock=lambda: now + timedelta(minutes=5)) == 1
    assert Client().get(link_in_the_mail()).status_code == 200


@pytest.mark.parametrize("what", ["refused", "taken back"])
def test_a_mail_that_servers_refuse_is_given_up(what: str, alices: Person) -> None:
    invite(alices, email="nora@example.com")
    if what == "refused":
        with failing_mail(smtplib.SMTPRecipientsRefused({})):
            assert invitation_mails.send_due() == 0
        assert "not e-mailed" in text_of(alices.get("/settings/members/"))
    else:
        path = f"/settings/members/garden/invitations/{Invitation.objects.get().pk}/revoke"
        alices.client.post(path)

    later = timezone.now() + timedelta(minutes=5)
    assert invitation_mails.send_due(clock=lambda: later) == 0
    assert outbox.outbox == []


def test_mails_to_one_address_are_limited(alices: Person) -> None:
    codes = [invite(alices, email="nora@example.com").status_code for _ in range(10)]

    assert codes[:3] == [303] * 3
    assert 200 in codes, "A link to pass on instead."
    assert invitation_mails.send_due() == codes.count(303) <= 6


def test_sign_ups_from_one_network_address_are_limited(alices: Person, link: str) -> None:
    known = alices.user.email
    codes = [sign_up(Client(), link, email=known).status_code for _ in range(25)]

    assert codes[:10] == [303] * 10
    assert 429 in codes


def test_a_typing_error_does_not_count_as_an_attempt(link: str) -> None:
    mistyped = {"new_password2": "a different one"}
    codes = [sign_up(Client(), link, **mistyped).status_code for _ in range(12)]

    assert codes == [422] * 12
    assert sign_up(Client(), link).status_code == 303
    assert User.objects.filter(email="nora@example.com").exists()


def test_inviting_asks_for_the_password_again(alices: Person) -> None:
    session = alices.client.session
    session[session_names.PASSWORD] = (timezone.now() - timedelta(minutes=16)).timestamp()
    session.save()

    for answer in (alices.get(INVITE), invite(alices)):
        assert (answer.status_code, answer["Location"].partition("?")[0]) == (303, "/sudo/")
    assert not Invitation.objects.exists()


def test_only_owners_invite_and_revoke(alices: Person, bobs: Person, ritas: Person) -> None:
    invite(alices)
    path = f"/settings/members/garden/invitations/{Invitation.objects.get().pk}/revoke"

    for person in (bobs, ritas):
        assert invite(person).status_code == 403
        assert person.client.post(path).status_code == 403
        assert "By link" not in text_of(person.get("/settings/members/"))
    assert Invitation.objects.get().revoked_at is None


def test_an_invitation_has_a_role_and_an_address_or_none(alices: Person) -> None:
    assert invite(alices, role="emperor").status_code == 422
    assert invite(alices, email="nobody").status_code == 422
    assert not Invitation.objects.exists()


def test_an_address_is_stored_as_the_sign_in_reads_it(link: str) -> None:
    spelled = "nora@\uff45xample.com"  # a full-width e

    sign_up(Client(), link, email=spelled)

    signed_in = Client().post("/login/", {"username": spelled, "password": NEW})
    assert signed_in["Location"] == "/"
