"""A person adds a passkey and signs in with it, with Chromium's virtual authenticator."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from accounts.models import Passkey, User
from accounts.sign_in.browsers import session_names
from accounts.sign_in.browsers.session_store import SessionStore
from accounts.sign_in.two_step import second_factor
from tests.browser.people.test_sign_in import write_password
from tests.browser.screen import Open, Screen

CREATE = "Create passkey"
SUGGESTS_NONE = "delete PublicKeyCredential.isConditionalMediationAvailable"


class Device:
    """Controls the authenticator of one window (Chrome DevTools Protocol, WebAuthn)."""

    def __init__(self, screen: Screen) -> None:
        self.session: Any = screen.context.new_cdp_session(screen.page)
        self.session.send("WebAuthn.enable", {"enableUI": False})
        options = {
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": True,
            "hasUserVerification": True,
            "isUserVerified": True,
            "automaticPresenceSimulation": True,
        }
        added = self.session.send("WebAuthn.addVirtualAuthenticator", {"options": options})
        self.id = added["authenticatorId"]

    def knows_the_person(self, *, known: bool) -> None:
        """Sets whether the authenticator accepts the fingerprint from now on."""
        self._set("setUserVerified", isUserVerified=known)

    def credentials(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._set("getCredentials")["credentials"]
        return found

    def _set(self, method: str, **values: Any) -> Any:
        return self.session.send(f"WebAuthn.{method}", {"authenticatorId": self.id, **values})


@pytest.fixture
def screen(open_browser: Open, alice: User) -> Screen:
    """Returns Alice's browser, signed in with her password. The browser suggests no passkeys,
    because this authenticator would accept a suggestion at once."""
    screen = open_browser()
    screen.context.add_init_script(SUGGESTS_NONE)
    screen.go("/login/")
    write_password(screen)
    return screen


@pytest.fixture
def device(screen: Screen) -> Device:
    return Device(screen)


def add(screen: Screen, name: str = "My laptop") -> None:
    screen.go("/settings/security/")
    screen.follow("Add a passkey")
    screen.page.get_by_label("Name").fill(name)
    screen.press(CREATE)


def sign_out(screen: Screen) -> None:
    screen.go("/settings/")
    screen.sign_out()
    screen.go("/login/")


def forget_the_password(screen: Screen) -> None:
    """Changes the session as if the person had signed in an hour ago."""
    cookies = {cookie["name"]: cookie["value"] for cookie in screen.context.cookies()}
    session = SessionStore(cookies["sessionid"])
    session[session_names.PASSWORD] = 0
    session.save()


def test_a_passkey_is_added_used_and_removed(screen: Screen, device: Device, alice: User) -> None:
    page = screen.page
    screen.go("/settings/security/passkeys/new/")
    assert screen.problems() == []
    add(screen)
    assert "Your recovery codes" in page.inner_text("main")
    assert screen.problems() == []
    assert [each["isResidentCredential"] for each in device.credentials()] == [True]
    screen.follow("I've saved them")
    assert "My laptop" in page.inner_text("main")
    assert screen.problems() == []

    sign_out(screen)
    assert screen.problems() == []
    screen.press("Sign in with a passkey")
    assert page.get_by_role("button", name="Menu of").is_visible()
    assert Passkey.objects.get().last_used_at is not None

    screen.go("/settings/security/")
    screen.follow("My laptop")
    assert screen.problems() == []
    page.get_by_label("Name").fill("Old laptop")
    screen.press("Save")
    screen.follow("Remove: Old laptop")
    screen.press("Remove passkey")
    assert "Passkey removed." in page.get_by_role("status").inner_text()
    assert not second_factor.is_on(alice)


def test_the_field_for_the_e_mail_suggests_the_passkey(open_browser: Open, alice: User) -> None:
    screen = open_browser(alice)
    page = screen.page
    Device(screen)
    add(screen)
    screen.go("/settings/")
    screen.sign_out()

    page.goto("/login/")

    expect(page.get_by_role("button", name="Menu of")).to_be_visible()


def test_it_is_the_second_step_after_the_password(screen: Screen, device: Device) -> None:
    add(screen)
    sign_out(screen)
    page = screen.page

    write_password(screen)
    assert "Use your passkey, or one of your recovery codes." in page.inner_text("main")
    assert screen.problems() == []
    screen.press("Use your passkey")

    assert page.get_by_role("button", name="Menu of").is_visible()


def test_it_replaces_the_password_that_is_asked_for_again(screen: Screen, device: Device) -> None:
    add(screen)
    forget_the_password(screen)
    page = screen.go("/settings/address/")
    assert "Confirm your password" in page.inner_text("main")
    assert screen.problems() == []

    screen.press("Use your passkey")

    assert page.url.endswith("/settings/address/")


def test_a_wrong_fingerprint_does_not_sign_in(screen: Screen, device: Device) -> None:
    add(screen)
    sign_out(screen)
    device.knows_the_person(known=False)
    page = screen.page

    page.get_by_role("button", name="Sign in with a passkey").click()

    expect(page.get_by_role("alert")).to_contain_text("No passkey was used")
    assert page.url.endswith("/login/")
    assert screen.problems() == []
    write_password(screen)
    assert "Two-step sign-in" in page.inner_text("main")


def test_a_cancelled_prompt_leaves_the_form_as_it_was(screen: Screen, device: Device) -> None:
    add(screen)
    screen.follow("I've saved them")
    screen.follow("Add a passkey")
    page = screen.page
    page.get_by_label("Name").fill("Second")

    # Chromium reports that this device already has a passkey, as soon as the person agrees.
    page.get_by_role("button", name=CREATE).click()
    expect(page.get_by_role("alert")).to_contain_text("already has a passkey")
    page.evaluate(
        """() => {
          navigator.credentials.create = async () => {
            throw new DOMException("cancelled", "NotAllowedError");
          };
        }"""
    )
    page.get_by_role("button", name=CREATE).click()

    expect(page.get_by_role("alert")).to_contain_text("you canceled")
    assert page.get_by_label("Name").input_value() == "Second"
    assert Passkey.objects.count() == 1


def test_a_passkey_that_was_removed_here_is_refused_calmly(
    screen: Screen, device: Device, alice: User
) -> None:
    add(screen)
    sign_out(screen)
    stored = Passkey.objects.get()
    Passkey.objects.create(  # passkeys are offered only if someone has one, here another person
        user=User.objects.create_user("nora@example.com"),
        name="Nora's",
        credential_id=b"nora",
        public_key=b"key",
    )
    stored.delete()

    screen.press("Sign in with a passkey")

    assert "may have been removed" in screen.page.get_by_role("status").inner_text()
    assert screen.problems() == []


def test_without_javascript_the_pages_say_that_it_is_needed(
    open_browser: Open, alice: User
) -> None:
    Passkey.objects.create(user=alice, name="Phone", credential_id=b"phone", public_key=b"key")
    screen = open_browser(scripts=False)
    page = screen.go("/login/")
    assert "Passkeys need JavaScript. You can still use your password." in page.inner_text("main")
    assert not page.get_by_role("button", name="Sign in with a passkey").is_visible()

    write_password(screen)
    assert "Passkeys need JavaScript. Use a recovery code." in page.inner_text("main")


def test_a_browser_without_passkeys_says_so(open_browser: Open, alice: User) -> None:
    screen = open_browser(alice)
    screen.context.add_init_script("delete window.PublicKeyCredential")

    page = screen.go("/settings/security/passkeys/new/")

    assert "This browser doesn't support passkeys" in page.inner_text("main")
    assert not page.get_by_role("button", name=CREATE).is_visible()
