"""Provides the hook."""

from __future__ import annotations

import pytest

from tests.client.hook.running import Hook


@pytest.fixture
def hook(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Hook:
    return Hook(monkeypatch, capsys, tmp_path_factory.mktemp("state"))
