"""Makes the texts of access tokens and refresh tokens, in the form of keys
(accounts/access/key_texts.py)."""

from __future__ import annotations

from typing import Any

from accounts.access.key_texts import form_of, is_whole, new_key

ACCESS_TOKEN = form_of("access")


def new_access_token(request: Any, refresh_token: bool = False) -> str:  # noqa: FBT001, FBT002
    """Returns a new text. The parameters are those of oauthlib."""
    return new_key("access")


def new_refresh_token(request: Any, refresh_token: bool = False) -> str:  # noqa: FBT001, FBT002
    return new_key("refresh")


def is_access_token(text: str) -> bool:
    """Returns whether the text has the form of an access token, so that others need no query."""
    return bool(ACCESS_TOKEN.fullmatch(text)) and is_whole(text)
