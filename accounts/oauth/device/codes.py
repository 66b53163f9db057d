"""Makes and reads the codes that people type."""

from __future__ import annotations

import secrets

# Without vowels and digits, a code spells no word, and no letter looks like another (RFC 8628,
# 6.1). Eight letters are 34 bits.
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
LENGTH = 8
MAX_TYPED = 40


def new_user_code() -> str:
    """Returns a code in the form in which people read it, such as BCDF-GHJK."""
    return shown("".join(secrets.choice(LETTERS) for _ in range(LENGTH)))


def shown(letters: str) -> str:
    return f"{letters[: LENGTH // 2]}-{letters[LENGTH // 2 :]}"


def read_user_code(typed: str) -> str | None:
    """Returns the eight letters of a code that a person typed, or None if it can be no code. The
    hyphen, blanks and lower case make no difference."""
    letters = "".join(each for each in typed[:MAX_TYPED].upper() if each.isalnum())
    return letters if len(letters) == LENGTH and set(letters) <= set(LETTERS) else None
