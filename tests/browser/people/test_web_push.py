"""In Chromium, the page asks for notifications when its button is pressed. The service worker shows
what is pushed, and opens what a person clicks."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Worker, expect

from accounts.models import User
from inbox.models import Channel
from inbox.notifications.web_push import vapid
from tests.browser.screen import Open, Screen
from tests.inbox.notifications.web_push.push_service import Browser
from tests.wake.callbacks.receiver import Receiver

PAGE = "/settings/notifications/browser/"
BUTTON = "Turn on in this browser"
# The browser of the tests has no push service. The script gives the page a subscription as a push
# service would return it.
SUBSCRIBES = """
Notification.requestPermission = async () => {
  window.asked = true;
  return window.permission ?? "granted";
};
PushManager.prototype.subscribe = async (options) => {
  window.noteSubscribed(options.applicationServerKey.length, options.userVisibleOnly);
  return { toJSON: () => (%s) };
};
"""
# Headless Chromium shows no notifications. The script keeps the notifications that the service
# worker asks Chromium to show.
KEEPS_SHOWN = """() => {
  self.shown = [];
  ServiceWorkerRegistration.prototype.showNotification = async (title, options) => {
    self.shown.push({ title, ...options });
  };
}"""
CLICK = """async (path) => {
  const opened = [];
  const value = async (url) => { opened.push(url); };
  Object.defineProperty(self.clients, "openWindow", { configurable: true, value });
  const waits = [];
  const event = Object.assign(new Event("notificationclick"), {
    notification: { close() {}, data: { path } },
    waitUntil: (promise) => waits.push(promise),
  });
  self.dispatchEvent(event);
  await Promise.allSettled(waits);
  return opened;
}"""


# Gives the service worker a new subscription from the push service, in place of an older one.
CHANGE = """async (subscription) => {
  const keys = [];
  PushManager.prototype.subscribe = async (options) => {
    keys.push(options.applicationServerKey);
    return { toJSON: () => subscription };
  };
  const waits = [];
  self.dispatchEvent(Object.assign(new Event("pushsubscriptionchange"), {
    waitUntil: (promise) => waits.push(promise),
  }));
  await Promise.all(waits);
  return keys;
}"""


@pytest.fixture
def screen(open_browser: Open, alice: User) -> Screen:
    screen = open_browser(alice)
    screen.context.grant_permissions(["notifications"], origin=screen.origin)
    return screen


def worker_of(screen: Screen) -> Worker:
    screen.page.evaluate("async () => { await navigator.serviceWorker.ready; }")
    (worker,) = screen.context.service_workers
    return worker


def push(screen: Screen, text: str) -> Any:
    """Delivers a message to the service worker (Chrome DevTools Protocol, ServiceWorker), and
    returns what it shows."""
    worker = worker_of(screen)
    worker.evaluate(KEEPS_SHOWN)
    session: Any = screen.context.new_cdp_session(screen.page)
    registrations: list[Any] = []
    session.on(
        "ServiceWorker.workerRegistrationUpdated",
        lambda event: registrations.extend(event["registrations"]),
    )
    session.send("ServiceWorker.enable")
    wait_for(screen, lambda: registrations)
    message = {"origin": screen.origin, "data": text}
    message["registrationId"] = registrations[0]["registrationId"]
    session.send("ServiceWorker.deliverPushMessage", message)
    (shown,) = wait_for(screen, lambda: worker.evaluate("self.shown"))
    return shown


def wait_for(screen: Screen, found: Callable[[], Any]) -> Any:
    for _ in range(200):
        if result := found():
            return result
        screen.page.wait_for_timeout(50)
    raise AssertionError("It did not come.")


def test_a_person_turns_it_on_with_one_button(
    screen: Screen, start_receiver: Callable[..., Receiver], settings: Any
) -> None:
    service = start_receiver()
    settings.WAKE_NOTIFICATION_HOSTS = {f"127.0.0.1:{service.port}"}
    browser = Browser(f"http://127.0.0.1:{service.port}/push/one")
    subscribed: list[Any] = []
    screen.context.expose_function("noteSubscribed", lambda *args: subscribed.append(args))
    screen.context.add_init_script(SUBSCRIBES % browser.subscription)

    screen.go("/settings/notifications/")
    screen.follow("This browser")
    screen.page.wait_for_selector("html[data-ready]", state="attached")
    assert screen.page.evaluate("window.asked") is None
    assert screen.problems() == []
    screen.press(BUTTON)

    expect(screen.page.get_by_text("Turned on. Choose what it sends you.")).to_be_visible()
    assert subscribed == [(65, True)]
    assert Channel.objects.get().name == "Chrome on Linux"
    screen.press("Send a test")
    assert browser.read(service.received[0])["title"].startswith("This is a test")


def test_a_changed_subscription_reaches_the_server(
    screen: Screen, start_receiver: Callable[..., Receiver], settings: Any
) -> None:
    service = start_receiver()
    settings.WAKE_NOTIFICATION_HOSTS = {f"127.0.0.1:{service.port}"}
    old, new = (Browser(f"http://127.0.0.1:{service.port}/push/{name}") for name in ("old", "new"))
    screen.context.expose_function("noteSubscribed", lambda *_: None)
    screen.context.add_init_script(SUBSCRIBES % old.subscription)
    screen.go(PAGE)
    screen.page.wait_for_selector("html[data-ready]", state="attached")
    screen.press(BUTTON)
    expect(screen.page.get_by_text("Turned on.")).to_be_visible()

    keys = worker_of(screen).evaluate(CHANGE, json.loads(new.subscription))

    assert keys == [vapid.public_key()]
    screen.press("Send a test")
    (request,) = service.received
    assert request.path == "/push/new"
    assert new.read(request)["title"].startswith("This is a test")


def test_a_changed_subscription_of_no_channel_is_not_renewed(screen: Screen) -> None:
    screen.go(PAGE)

    assert worker_of(screen).evaluate(CHANGE, {}) == []
    assert not Channel.objects.exists()


def test_a_browser_that_blocks_notifications_is_told_how_to_allow_them(screen: Screen) -> None:
    screen.context.add_init_script((SUBSCRIBES % "{}") + "window.permission = 'denied';")
    page = screen.go(PAGE)

    page.get_by_role("button", name=BUTTON).click()

    expect(page.get_by_role("alert")).to_contain_text("blocks notifications")
    assert screen.problems() == []
    assert not Channel.objects.exists()


def test_without_scripts_there_is_no_button(open_browser: Open, alice: User) -> None:
    page = open_browser(alice, scripts=False).go(PAGE)

    assert "Turning it on needs JavaScript." in page.content()
    expect(page.get_by_role("button", name=BUTTON)).to_be_hidden()


def test_a_push_is_shown(screen: Screen) -> None:
    screen.go(PAGE)
    content = {"title": "bot waits", "body": "<b>Ship?</b>", "path": "/deliveries/1/", "tag": "t"}

    shown = push(screen, json.dumps(content))

    assert shown["data"] == {"path": content.pop("path")}
    assert {name: shown[name] for name in content} == content
    assert shown["renotify"] is True


def test_a_push_without_content_is_shown_too(screen: Screen) -> None:
    screen.go(PAGE)

    assert push(screen, "no JSON")["title"] == "Wake"


@pytest.mark.parametrize(
    ("path", "opened"),
    [
        ("/history/", "/history/"),
        ("https://evil.example/", "/"),
        ("//evil.example/", "/"),
        ("javascript:alert(1)", "/"),
        (None, "/"),
    ],
)
def test_a_click_opens_a_page_of_wake_alone(screen: Screen, path: str, opened: str) -> None:
    screen.go(PAGE)
    worker = worker_of(screen)

    assert worker.evaluate(CLICK, path) == [screen.origin + opened]


def test_a_click_uses_the_window_with_the_list(screen: Screen) -> None:
    page = screen.go(PAGE)
    worker = worker_of(screen)
    screen.go("/")

    with page.expect_navigation():
        assert worker.evaluate(CLICK, "/history/") == []

    expect(page).to_have_url(screen.origin + "/history/")
