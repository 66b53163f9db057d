"""Reads the current row of a callback."""

from __future__ import annotations

from datetime import datetime

from wake.models import Callback, Response


def answer_in(callback: Callback) -> Response:
    """Returns the answer that the callback carries."""
    assert callback.response is not None
    return callback.response


def again(callback: Callback) -> Callback:
    """Returns the current row."""
    return Callback.objects.get(pk=callback.pk)


def due(callback: Callback) -> datetime:
    at = again(callback).due_at
    assert at is not None
    return at
