"""New keys carry the letter of their cell (docs/cells.md)."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.utils import timezone

from accounts.access.key_texts import hint_of, is_whole, new_key
from accounts.agents import gates, keys
from accounts.audit import SYSTEM
from accounts.models import Agent, Team
from accounts.oauth import tokens
from relay.cards import callers
from wake.server.settings import env

KINDS = ("live", "test", "gate", "call", "access", "refresh")


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_without_a_letter_issues_the_keys_of_before(kind: str) -> None:
    assert re.fullmatch(rf"wk_{kind}_[0-9A-Za-z]{{36}}", new_key(kind))


@pytest.mark.parametrize("kind", KINDS)
def test_a_key_carries_the_letter_after_its_kind(kind: str, settings: Any) -> None:
    settings.WAKE_CELL = "b"

    text = new_key(kind)

    assert re.fullmatch(rf"wk_{kind}_b_[0-9A-Za-z]{{36}}", text)
    assert is_whole(text)
    assert not is_whole(text.replace("_b_", "_a_"))
    assert len(hint_of(text)) < 24


def test_every_way_to_issue_a_key_adds_the_letter(agent: Agent, team: Team, settings: Any) -> None:
    settings.WAKE_CELL = "b"
    now = timezone.now()

    issued = [
        keys.mint(agent, by=SYSTEM)[1],
        keys.mint(agent, by=SYSTEM, mode="test")[1],
        gates.issue(team, name="Refunds", agents=[agent], by=SYSTEM, at=now)[1],
        callers.mint(team, name="Painter", by=SYSTEM)[1],
        tokens.new_access_token(None),
        tokens.new_refresh_token(None),
    ]

    assert [text[:-36] for text in issued] == [
        "wk_live_b_", "wk_test_b_", "wk_gate_b_", "wk_call_b_", "wk_access_b_", "wk_refresh_b_",
    ]  # fmt: skip
    assert tokens.is_access_token(issued[4])


def test_keys_of_other_cells_and_of_before_work(agent: Agent, team: Team, settings: Any) -> None:
    now = timezone.now()
    for letter in ("", "a", "7"):
        settings.WAKE_CELL = letter
        _, key = keys.mint(agent, by=SYSTEM)
        _, gate = gates.issue(team, name=f"Gate {letter}", agents=[agent], by=SYSTEM, at=now)
        _, call = callers.mint(team, name=f"Caller {letter}", by=SYSTEM)
        settings.WAKE_CELL = "b"

        assert keys.find(key, at=now) is not None
        assert gates.look_up(gate) is not None
        assert callers.find(call, at=now) is not None


@pytest.mark.parametrize("text", ["B", "ab", "_", "é", "-", "٣"])
def test_a_cell_is_one_letter_or_digit(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKE_CELL", text)

    with pytest.raises(env.BadVariable, match="one letter from a to z"):
        env.cell("WAKE_CELL")


@pytest.mark.parametrize("text", ["", "b", "7", " b "])
def test_a_cell_may_have_no_letter(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAKE_CELL", text)
    cell: Any = env.cell("WAKE_CELL")

    assert cell == text.strip()
