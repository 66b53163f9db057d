"""In a real browser, a person sets up, uses and loses a second factor, and resets a password."""

from __future__ import annotations

import pytest
from django.core import mail as outbox

from accounts.models import User
from accounts.sign_in.addresses import mails as address_mails
from accounts.sign_in.passwords import resets as password_resets
from tests.accounts.sign_in.test_address import mailed_link
from tests.accounts.sign_in.test_password_reset import NEW, link_in_the_mail
from tests.accounts.sign_in.test_second_factor_pages import code_of
from tests.browser.screen import Open, Screen
from tests.fixtures.people import PASSWORD


def write_password(screen: Screen, password: str = PASSWORD) -> None:
    screen.page.get_by_label("E-mail").fill("alice@example.com")
    screen.page.get_by_label("Password", exact=True).fill(password)
    screen.press("Sign in")


@pytest.mark.parametrize("scripts", [True, False])
def test_a_second_step_from_the_first_picture_to_the_last_recovery_code(
    open_browser: Open, alice: User, scripts: bool
) -> None:
    screen = open_browser(scripts=scripts)
    look = screen.problems if scripts else list
    page = screen.go("/login/")
    write_password(screen)

    screen.go("/settings/security/")
    screen.follow("Set up")
    page.get_by_text("Enter the key manually").click()
    secret = page.locator("code.secret").first.inner_text().replace(" ", "")
    assert look() == []
    page.get_by_label("Code", exact=True).fill(code_of(secret))
    screen.press("Turn on")
    assert look() == []
    recovery = page.get_by_role("region", name="Recovery codes").inner_text().split()
    screen.follow("I've saved them")
    assert "10 recovery codes left." in page.inner_text("main")
    assert look() == []
    screen.sign_out()

    write_password(screen)
    assert page.get_by_label("Code", exact=True).is_visible()
    page.get_by_label("Code", exact=True).fill("000000")
    screen.press("Sign in")
    assert "Wrong or already used code" in page.get_by_role("alert").inner_text()
    page.get_by_text("Use a recovery code").click()
    assert look() == []
    page.get_by_label("Recovery code").fill(recovery[-1])
    screen.press("Sign in")

    assert "9 are left" in page.get_by_role("status").inner_text()
    screen.go("/settings/security/codes/off/")
    page.get_by_label("Code", exact=True).fill(code_of(secret, steps=1))
    assert look() == []
    screen.press("Turn off")
    assert "Two-step sign-in is off" in page.get_by_role("status").inner_text()


def test_a_lost_password_is_reset_by_a_link_in_a_mail(open_browser: Open, alice: User) -> None:
    screen = open_browser()
    page = screen.go("/login/")
    screen.follow("Forgot your password?")
    assert screen.problems() == []
    page.get_by_label("E-mail").fill(alice.email)
    screen.press("Send link")
    assert screen.problems() == []
    password_resets.send_due()
    assert len(outbox.outbox) == 1

    screen.go(link_in_the_mail())
    assert screen.problems() == []
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("Confirm new password").fill(NEW)
    screen.press("Change password")
    assert "Password changed" in page.get_by_role("status").inner_text()
    write_password(screen, NEW)

    assert page.get_by_role("button", name="Menu of").is_visible()
    screen.go(link_in_the_mail())
    assert "This link no longer works" in page.inner_text("main")
    assert screen.problems() == []


@pytest.mark.parametrize("scripts", [True, False])
def test_an_address_is_changed_and_taken_back(
    open_browser: Open, alice: User, scripts: bool
) -> None:
    screen = open_browser(scripts=scripts)
    look = screen.problems if scripts else list
    page = screen.go("/login/")
    write_password(screen)

    screen.go("/settings/profile/")
    screen.follow("Change address")
    page.get_by_label("New e-mail address").fill("alice@new.example.com")
    assert look() == []
    screen.press("Send link")
    assert "alice@new.example.com" in page.get_by_role("status").inner_text()
    address_mails.send_due()
    screen.go(mailed_link())
    assert look() == []
    screen.press("Change address")
    assert "You sign in as alice@new.example.com." in page.inner_text("main")

    address_mails.send_due()
    screen.go(mailed_link())
    assert look() == []
    screen.press("Restore the old address")

    assert "Address restored." in page.get_by_role("status").inner_text()
    write_password(screen)
    assert "Wrong e-mail or password" in page.get_by_role("alert").inner_text()
    password_resets.send_due()
    screen.go(link_in_the_mail())
    page.get_by_label("New password", exact=True).fill(NEW)
    page.get_by_label("Confirm new password").fill(NEW)
    screen.press("Change password")
    write_password(screen, NEW)
    assert page.url.endswith("/")
