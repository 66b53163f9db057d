"""The card of a question (wake/mcp/cards/) in a host with the official bridge of MCP Apps. The card
is in a sandboxed frame, under the policy that the extension prescribes."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Frame, Locator, expect

from accounts.models import ApiKey, User
from tests.browser.screen import ALL_OF_IT, AXE, OUTSIDE, RUN_AXE, Open, Screen
from tests.fixtures.peers import environment
from tests.types import Age
from tests.wake.mcp.client import McpClient
from tests.wake.mcp.test_tools import answer as respond_to
from wake.mcp.cards import resources
from wake.models import Delivery

PEER = Path(__file__).parents[2] / "wake/mcp/peers/js_apps"
HOST_PAGE = """<!doctype html><html lang="en"><title>Host</title>
<body style="margin:0"><iframe title="Card" sandbox="allow-scripts"
  style="width:100%;border:0"></iframe></body></html>"""
IN_LONDON = {"theme": "light", "locale": "en-GB", "timeZone": "UTC"}
ASK = {"headline": "Which name?", "summary": "Both are free.", "wait_seconds": 0}


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Returns the script of the host's page."""
    folder = environment(PEER)
    script = folder / "host.mjs"
    script.write_text((PEER / "host.mjs").read_text())
    bundle = tmp_path_factory.mktemp("host") / "host.js"
    esbuild = [str(folder / "node_modules/.bin/esbuild"), str(script), "--bundle"]
    done = subprocess.run(
        [*esbuild, f"--outfile={bundle}"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return bundle.read_text()


class Host:
    """Shows the card in one window."""

    def __init__(self, screen: Screen, script: str) -> None:
        self.screen, self.page = screen, screen.page
        address = f"{screen.origin}/host"
        self.page.route(
            address, lambda route: route.fulfill(body=HOST_PAGE, content_type="text/html")
        )
        self.page.goto(address)
        self.page.evaluate(script)

    def show(self, context: Any = IN_LONDON, **options: Any) -> Locator:
        """Loads the card and returns its content, after the handshake."""
        self.page.evaluate(
            "([html, context, options]) => show(html, context, options)",
            [resources.PAGE, context, options],
        )
        return self.page.frame_locator("iframe").locator("main")

    def send(self, method: str, params: Any) -> None:
        self.page.evaluate("([method, params]) => host.bridge[method](params)", [method, params])

    def send_result(self, result: Any, arguments: Any = ASK) -> None:
        self.send("sendToolInput", {"arguments": arguments})
        self.send("sendToolResult", result)

    def seen(self, what: str) -> Any:
        return self.page.evaluate(f"host.{what}")

    @property
    def frame(self) -> Frame:
        (frame,) = self.page.main_frame.child_frames
        return frame

    def problems(self) -> list[str]:
        self.frame.evaluate(AXE)
        found: Any = self.frame.evaluate(RUN_AXE, ALL_OF_IT)
        nodes = [(each["id"], node["html"]) for each in found for node in each["nodes"]]
        outside: list[str] = self.frame.evaluate(OUTSIDE)
        return [f"{id}: {html[:200]}" for id, html in nodes] + outside


@pytest.fixture
def agent_client(key: ApiKey, transactional_db: None) -> McpClient:
    return McpClient(key.text, takes_cards=True)  # type: ignore[attr-defined]


def test_a_question_is_shown_and_its_page_opens(
    open_browser: Open, bridge: str, agent_client: McpClient, bob: User, settings: Any
) -> None:
    screen = open_browser(bob)
    settings.WAKE_ORIGIN = screen.origin
    host = Host(screen, bridge)
    card = host.show()
    expect(card).to_contain_text("Waiting for Wake")
    host.send("sendToolInput", {"arguments": ASK})
    expect(card.get_by_role("heading")).to_have_text("Which name?")
    expect(card.get_by_role("link")).to_have_count(0)
    result = agent_client.call("ask", **ASK, timeout_seconds=3600, assumption="I take A.")
    host.send("sendToolResult", result)

    expect(card.get_by_role("status")).to_contain_text("Waiting for an answer")
    expect(card.get_by_role("status")).to_contain_text(
        "If there is no answer by then, the agent goes on as it said:"
    )
    expect(card.locator(".words")).to_have_text("I take A.")
    expect(card.locator(".as-of")).to_contain_text("Wake has the current state.")
    card.get_by_role("link", name="Answer in Wake").click()
    host.page.wait_for_function("host.opened.length === 1")
    expect(card.locator(".address")).to_be_hidden()
    (url,) = host.seen("opened")
    assert host.seen("called") == []
    assert host.seen("app.name") == "wake-question"
    screen.go(url)
    expect(screen.page.get_by_role("heading", name="Which name?")).to_be_visible()


def test_the_address_is_shown_if_the_host_does_not_open_it(
    open_browser: Open, bridge: str, agent_client: McpClient
) -> None:
    host = Host(open_browser(), bridge)
    card = host.show(opens=False)
    result = agent_client.call("ask", **ASK)
    host.send_result(result)

    card.get_by_role("link", name="Answer in Wake").press("Enter")

    url = result["_meta"]["wake/card"]["url"]
    expect(card.locator(".address")).to_contain_text(f"Its address is {url}")


def test_each_state_is_told_in_words(
    open_browser: Open, bridge: str, agent_client: McpClient, bob: User, age: Age
) -> None:
    host = Host(open_browser(), bridge)
    card = host.show()
    number = iter(range(100))

    def asked(**more: Any) -> str:
        question = {**ASK, "summary": f"Number {next(number)}.", **more}
        return str(agent_client.structured("ask", **question)["delivery_id"])

    def show(delivery_id: str) -> Locator:
        host.send_result(agent_client.call("check", delivery_id=delivery_id), {})
        return card

    open_one = show(asked())
    expect(open_one).to_contain_text("There is no deadline: the agent waits for an answer.")

    approved = asked()
    respond_to(approved, bob, "approved", feedback="Go ahead.")
    expect(show(approved).get_by_role("status")).to_have_text("Approved A person approved it.")
    expect(card.locator(".words")).to_have_text("Go ahead.")
    expect(card.get_by_role("link")).to_have_text("Open in Wake")

    rejected = asked()
    respond_to(rejected, bob, "rejected", feedback="Too dear.\nAsk again in May.")
    expect(show(rejected).get_by_role("status")).to_contain_text("The agent must not do it.")
    expect(card.locator(".words")).to_have_text("Too dear.\nAsk again in May.")

    chosen = asked(options=["A", "B"])
    respond_to(chosen, bob, "redirected", edited_json='{"choice":"B"}')
    expect(show(chosen).locator("dt")).to_have_text("choice")
    expect(card.locator("dd")).to_have_text("B")

    for on_timeout, words in [("", "so the agent goes on by itself."), ("hold", "keeps waiting.")]:
        expired = asked(timeout_seconds=60)
        Delivery.objects.filter(pk=expired).update(on_timeout=on_timeout)
        age(expired, hours=1)
        expect(show(expired).locator(".state")).to_have_text("Expired")
        expect(card.locator(".meaning")).to_contain_text(words)
        expect(card.get_by_role("link")).to_have_text("Answer in Wake")

    withdrawn = asked()
    agent_client.call("withdraw", delivery_id=withdrawn)
    expect(show(withdrawn).locator(".state")).to_have_text("Withdrawn")
    expect(card.get_by_role("link")).to_have_text("Open in Wake")

    host.send_result(agent_client.call("ask", headline="Only this"))
    expect(card.locator(".state")).to_have_text("The call failed")
    expect(card.locator(".words")).to_contain_text("summary")
    host.send("sendToolInput", {"arguments": ASK})
    host.send("sendToolCancelled", {"reason": "user"})
    expect(card.locator(".state")).to_have_text("Canceled")


def test_an_old_result_does_not_say_that_it_waits(
    open_browser: Open, bridge: str, agent_client: McpClient
) -> None:
    host = Host(open_browser(), bridge)
    card = host.show()
    result = agent_client.call("ask", **ASK, timeout_seconds=60)
    result["structuredContent"]["expires_at"] = "2026-01-02T03:04:05.000000Z"

    host.send_result(result)

    expect(card.locator(".state")).to_have_text("The deadline has passed")
    expect(card.locator(".meaning")).to_contain_text("The deadline was 2 Jan 2026, 03:04.")


HOSTILE = '<img src=x onerror="alert(1)"><script>alert(2)</script>'


def test_hostile_text_stays_text(
    open_browser: Open, bridge: str, agent_client: McpClient, bob: User
) -> None:
    host = Host(open_browser(), bridge)
    card = host.show({**IN_LONDON, "locale": "<b>", "timeZone": "../x", "theme": "</style>"})
    question = {**ASK, "headline": HOSTILE, "assumption": HOSTILE, "timeout_seconds": 3600}
    asked = agent_client.call("ask", **question)

    host.send_result(asked, question)

    expect(card.get_by_role("heading")).to_have_text(HOSTILE)
    expect(card.locator(".words")).to_have_text(HOSTILE)
    delivery_id = asked["structuredContent"]["delivery_id"]
    edited = '{"__proto__":"<b>x</b>","constructor":{"a":[1]}}'
    respond_to(delivery_id, bob, "redirected", feedback=HOSTILE, edited_json=edited)
    host.send_result(agent_client.call("check", delivery_id=delivery_id))
    expect(card.locator("dd").last).to_have_text('{"a":[1]}')
    assert card.locator("img, b, main script").count() == 0
    asked["_meta"]["wake/card"]["url"] = "javascript:alert(3)"
    host.send_result(asked)
    expect(card.get_by_role("link")).to_have_count(0)


def test_a_message_from_elsewhere_is_ignored(
    open_browser: Open, bridge: str, agent_client: McpClient
) -> None:
    host = Host(open_browser(), bridge)
    card = host.show()
    host.send_result(agent_client.call("ask", **ASK))
    forged = {
        "jsonrpc": "2.0",
        "method": "ui/notifications/tool-result",
        "params": {"structuredContent": {"status": "approved"}},
    }

    host.frame.evaluate("message => window.postMessage(message, '*')", forged)
    host.send("setHostContext", {"theme": "dark"})

    expect(card.locator(".state")).to_have_text("Waiting for an answer")


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390, 320])
def test_the_card_fits_and_is_accessible(
    open_browser: Open, bridge: str, agent_client: McpClient, bob: User, theme: str, width: int
) -> None:
    # The host's theme wins over the theme of the system.
    scheme = {"light": "dark", "dark": "light"}[theme]
    host = Host(open_browser(width=width, scheme=scheme), bridge)
    card = host.show({**IN_LONDON, "theme": theme})
    long = {**ASK, "headline": "W" * 120, "assumption": "x" * 400, "timeout_seconds": 3600}
    asked = agent_client.call("ask", **long)

    host.send_result(asked, long)

    expect(card.get_by_role("link")).to_be_visible()
    background = host.frame.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == {"light": "rgb(255, 255, 255)", "dark": "rgb(27, 30, 34)"}[theme]
    assert host.problems() == []
    height = host.frame.evaluate("Math.ceil(document.documentElement.scrollHeight)")
    host.page.wait_for_function("height => host.sizes.at(-1) === height", arg=height)
    respond_to(asked["structuredContent"]["delivery_id"], bob, "rejected", feedback="No.")
    checked = {"delivery_id": asked["structuredContent"]["delivery_id"]}
    host.send_result(agent_client.call("check", **checked), checked)
    expect(card.locator(".state")).to_have_text("Rejected")
    assert host.problems() == []


def test_the_theme_and_the_hosts_colours_can_change(
    open_browser: Open, bridge: str, agent_client: McpClient
) -> None:
    host = Host(open_browser(), bridge)
    host.show()
    host.send_result(agent_client.call("ask", **ASK))
    variables = {"--color-background-primary": "rgb(1, 2, 3)", "--border-radius-md": "0"}

    host.send("setHostContext", {**IN_LONDON, "theme": "dark", "styles": {"variables": variables}})

    host.frame.wait_for_function(
        "getComputedStyle(document.body).backgroundColor === 'rgb(1, 2, 3)'"
    )
    assert host.frame.evaluate("document.documentElement.style.colorScheme") == "dark"
    assert host.seen("bridge.teardownResource({})") == {}
