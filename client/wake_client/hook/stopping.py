"""Turns the signal with which an agent stops its hook into an exception."""

from __future__ import annotations

import signal
from typing import NoReturn


class Stopped(BaseException):
    """The agent stopped the hook, for example because a person answered in its terminal."""


def raise_if_stopped() -> None:
    signal.signal(signal.SIGTERM, _stop)


def ignore_signals() -> None:
    """Ignores signals while the hook prints, because half an output would decide nothing."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _stop(number: int, frame: object) -> NoReturn:
    ignore_signals()
    raise Stopped
