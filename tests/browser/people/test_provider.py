"""People of a company sign in with its account on their first day, after a change of role and on
their last day."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.access import invitations
from accounts.models import Membership, Session, Team, User
from accounts.sign_in.browsers import session_names
from accounts.sign_in.browsers.session_store import SessionStore
from tests.accounts.sign_in.oidc.mock_provider import MockProvider
from tests.browser.screen import Open, Screen
from tests.fixtures.people import PASSWORD

pytestmark = pytest.mark.parametrize("scripts", [True, False])


@pytest.fixture
def company(provider: MockProvider, live_server: Any, settings: Any) -> MockProvider:
    settings.WAKE_ORIGIN = live_server.url
    provider.has_form = True
    provider.accounts["b-2"] = {"email": "boss@corp.example", "email_verified": True}
    return provider


def go_there(screen: Screen, company: MockProvider, press: str, email: str) -> None:
    """Presses the button, waits for the provider's page, and chooses the account there."""
    screen.page.get_by_role("button", name=press).click()
    screen.page.wait_for_url(f"{company.issuer}/**")
    screen.page.get_by_role("button", name=email).click()
    screen.page.wait_for_url(f"{screen.origin}/**")
    assert all(url.startswith(company.issuer) for url in screen.left_the_origin)
    screen.left_the_origin.clear()


def hours_pass(hours: float) -> None:
    for row in Session.objects.all():
        store = SessionStore(row.pk)
        if session_names.PROVIDER in store:
            store[session_names.PROVIDER] -= timedelta(hours=hours).total_seconds()
            store.save()


def test_from_the_first_day_to_the_last(
    open_browser: Open, company: MockProvider, team: Team, alice: User, settings: Any, scripts: bool
) -> None:
    settings.WAKE_PASSWORDS = False
    settings.WAKE_OIDC_GROUPS = [("admins", "garden", "owner"), ("staff", "garden", "reviewer")]
    company.accounts["n-1"]["groups"] = ["staff"]
    screen = open_browser(scripts=scripts)
    look = screen.problems if scripts else list
    page = screen.go("/settings/members/")
    assert page.get_by_role("button").all_inner_texts() == ["Sign in with Example"]
    assert look() == []

    go_there(screen, company, "Sign in with Example", "nora@corp.example")
    assert page.url.endswith("/settings/members/")
    assert "Reviewer" in page.inner_text("main")
    screen.go("/settings/security/")
    assert "nora@corp.example" in page.inner_text("main")
    assert look() == []

    company.accounts["n-1"]["groups"] = ["staff", "admins"]
    hours_pass(13)
    screen.go("/settings/members/")
    go_there(screen, company, "Sign in with Example", "nora@corp.example")
    assert page.get_by_role("link", name="Invite someone to Garden").is_visible()

    company.deactivated = {"n-1"}
    hours_pass(13)
    screen.go("/")
    go_there(screen, company, "Sign in with Example", "nora@corp.example")
    assert "Example didn't sign you in" in page.inner_text("main")
    assert look() == []
    screen.go("/")
    assert "/login/" in page.url


def test_a_colleague_with_a_password_connects_the_account(
    open_browser: Open, company: MockProvider, alice: User, scripts: bool
) -> None:
    company.accounts["n-1"]["email"] = alice.email
    screen = open_browser(alice, scripts=scripts)
    look = screen.problems if scripts else list
    page = screen.go("/settings/security/")
    assert look() == []
    screen.page.get_by_role("button", name="Connect").click()
    page.wait_for_url(f"{company.issuer}/**")
    page.get_by_role("button", name=alice.email).click()
    page.wait_for_url(f"{screen.origin}/**")
    screen.left_the_origin.clear()
    assert "Connected. You can sign in with Example now." in page.inner_text("main")
    assert look() == []
    screen.sign_out()

    assert look() == []
    go_there(screen, company, "Sign in with Example", alice.email)
    assert page.get_by_role("button", name="Menu of").is_visible()

    _forget_the_password()
    screen.go("/settings/security/codes/")
    assert page.get_by_label("Password", exact=True).is_visible()
    assert look() == []
    go_there(screen, company, "Confirm with Example", alice.email)
    assert page.url.endswith("/settings/security/codes/")


def test_an_account_with_the_same_address_is_told_what_to_do(
    open_browser: Open, company: MockProvider, scripts: bool, db: None
) -> None:
    User.objects.create_user("nora@corp.example", PASSWORD)
    screen = open_browser(scripts=scripts)
    page = screen.go("/login/")

    go_there(screen, company, "Sign in with Example", "nora@corp.example")

    assert "Your e-mail address has an account in Wake" in page.inner_text("main")
    if scripts:
        assert screen.problems() == []
    screen.follow("Back to sign-in")
    page.get_by_label("E-mail").fill("nora@corp.example")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    screen.press("Sign in")
    assert page.get_by_role("button", name="Menu of").is_visible()


def test_an_invited_person_joins_with_the_account(
    open_browser: Open, company: MockProvider, team: Team, alice: User, scripts: bool
) -> None:
    company.accounts["b-2"]["email"] = "boss@partner.example"
    _, text = invitations.invite(team, role="reviewer", by=alice, at=timezone.now())
    screen = open_browser(scripts=scripts)
    page = screen.go(f"/join/{text}/")
    if scripts:
        assert screen.problems() == []

    go_there(screen, company, "Join with Example", "boss@partner.example")

    assert "You joined Garden." in page.inner_text("main")
    assert Membership.objects.get(user__email="boss@partner.example").role == "reviewer"


def test_the_pages_between_are_accessible(
    open_browser: Open, company: MockProvider, settings: Any, scripts: bool, db: None
) -> None:
    """The first page leads to the provider, and stays open if the network does not reach the
    provider. The second page opens if someone follows an old link about passwords."""
    settings.WAKE_PASSWORDS = False
    screen = open_browser(scripts=scripts)
    look = screen.problems if scripts else list
    page = screen.go("/login/reset/")
    assert "Passwords are off" in page.inner_text("main")
    assert look() == []

    page.route(f"{company.issuer}/**", lambda route: route.fulfill(status=204))
    screen.follow("Go to sign-in")
    with page.expect_request(f"{company.issuer}/**"):  # the page goes on by itself
        page.get_by_role("button", name="Sign in with Example").click()
    page.get_by_role("heading", name="Continue to Example").wait_for()

    assert look() == []
    screen.left_the_origin.clear()


def _forget_the_password() -> None:
    for row in Session.objects.all():
        store = SessionStore(row.pk)
        store[session_names.PASSWORD] = 0
        store.save()
