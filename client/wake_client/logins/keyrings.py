"""Keeps keys in the keyring of the system, if the extra `wake-client[keyring]` is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def _library() -> Any:
    """Returns the library, or None if the extra is not installed."""
    try:
        return import_module("keyring")
    except ImportError:
        return None


keyring = _library()
SERVICE = "wake-client"


def put(key: str, *, endpoint: str, agent_id: str) -> bool:
    """Stores the key. Returns False if there is no keyring, or if it refuses."""
    if not _is_there():
        return False
    try:
        keyring.set_password(SERVICE, _name(endpoint, agent_id), key)
    except keyring.errors.KeyringError:
        return False
    return True


def get(*, endpoint: str, agent_id: str) -> str:
    """Returns the stored key. Raises ValueError if the keyring does not give it."""
    reason = "its key is in the keyring, which needs the extra wake-client[keyring]"
    if keyring is not None:
        try:
            if key := keyring.get_password(SERVICE, _name(endpoint, agent_id)):
                return str(key)
            reason = "its key is not in the keyring any more"
        except keyring.errors.KeyringError as error:
            reason = f"the keyring does not give its key: {error}"
    raise ValueError(f"{agent_id}: {reason}. `wake login {endpoint}` stores another key.")


def remove(*, endpoint: str, agent_id: str) -> None:
    """Removes the key if it is there."""
    if keyring is None:
        return
    try:
        keyring.delete_password(SERVICE, _name(endpoint, agent_id))
    except keyring.errors.KeyringError:  # it is not there, or the keyring is locked
        return


def _is_there() -> bool:
    """Returns whether the system has a keyring. Without one, the library has a backend that fails,
    or one that keeps texts in the clear, and does not recommend either."""
    return keyring is not None and bool(keyring.core.recommended(keyring.get_keyring()))


def _name(endpoint: str, agent_id: str) -> str:
    return f"{agent_id} at {endpoint}"
