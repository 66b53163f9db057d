"""Replaces the parts of the tests' process that a program reads or would change: standard input and
signal handlers."""

from __future__ import annotations

import io

import pytest


def type_in(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets the program read this text from its standard input."""
    # pytest's own standard input refuses to be read.
    monkeypatch.setattr("sys.stdin", io.StringIO(text))


def ignore_signals(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keeps the program from replacing the handlers of the process of the tests."""
    # A handler would be for the whole process of the tests.
    monkeypatch.setattr("signal.signal", lambda *ignored: None)
