"""In a real browser, a person connects a terminal by its code, and refuses another one."""

from __future__ import annotations

import pytest

from accounts.models import Agent, ApiKey, User
from tests.accounts.oauth.terminal import Terminal, error_of
from tests.browser.people.test_sign_in import write_password
from tests.browser.screen import Open


@pytest.mark.parametrize("scripts", [True, False])
def test_a_terminal_is_connected_by_the_code_that_is_typed(
    open_browser: Open, alice: User, agent: Agent, scripts: bool
) -> None:
    terminal = Terminal("olga-laptop")
    screen = open_browser(alice, scripts=scripts)
    look = screen.problems if scripts else list
    page = screen.go("/device/")
    assert look() == []

    page.get_by_label("Code").fill("bbbb bbbb")
    screen.press("Continue")
    assert "This code doesn't work." in page.get_by_role("alert").inner_text()
    assert look() == []
    page.get_by_label("Code").fill(terminal.code.lower())
    screen.press("Continue")

    text = page.inner_text("main")
    assert "olga-laptop" in text
    assert terminal.code in text
    assert "Only go on if you just ran wake login yourself" in " ".join(text.split())
    assert page.get_by_label("ID of the new agent").input_value() == "olga-laptop"
    assert look() == []
    page.get_by_label("Agent", exact=True).select_option(label=agent.agent_id)
    screen.press("Connect")

    assert (
        f"olga-laptop is connected as {agent.agent_id}. Go back to the terminal."
        in page.get_by_role("status").inner_text()
    )
    assert terminal.poll().json()["agent_id"] == agent.agent_id
    screen.go(f"/agents/{agent.pk}/")
    assert "wk_live_" in page.inner_text("main")


def test_a_link_leads_there_through_the_sign_in_and_the_person_refuses(
    open_browser: Open, alice: User, agent: Agent
) -> None:
    terminal = Terminal("a stranger's machine")
    screen = open_browser()
    page = screen.go(f"/device/?code={terminal.code}")

    write_password(screen)
    assert "a stranger's machine" in page.inner_text("main")
    screen.press("Refuse")

    assert "Nothing was connected." in page.get_by_role("status").inner_text()
    assert error_of(terminal.poll()) == "access_denied"
    assert not ApiKey.objects.exists()


def test_a_new_agent_is_registered_and_a_taken_id_is_explained(
    open_browser: Open, alice: User, agent: Agent
) -> None:
    terminal = Terminal(agent_id="coder")
    screen = open_browser(alice)
    page = screen.go(f"/device/?code={terminal.code}")

    page.get_by_label("ID of the new agent").fill(agent.agent_id)
    screen.press("Connect")
    assert page.locator("[aria-invalid=true]").count() == 1
    assert screen.problems(in_all_sizes=False) == []
    page.get_by_label("ID of the new agent").fill("coder")
    page.get_by_label("Expires").select_option(label="Never")
    screen.press("Connect")

    assert terminal.poll().json()["agent_id"] == "coder"
    assert ApiKey.objects.get().expires_at is None
