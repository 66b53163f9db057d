"""Defines why a passkey was not accepted: a text for the person, and a word for the audit."""

from __future__ import annotations


class PasskeyRefused(Exception):
    """That passkey wasn't accepted. Try again."""

    reason = "invalid"

    def __str__(self) -> str:
        return self.__doc__ or ""


class ChallengeEnded(PasskeyRefused):
    """That took too long, or another tab of this browser came in between. Try again."""

    reason = "challenge"


class UnknownPasskey(PasskeyRefused):
    """This passkey doesn't work here. It may have been removed."""

    reason = "unknown"


class NotVerified(PasskeyRefused):
    """Your device didn't check that it's you, by fingerprint, face or PIN. Use your password."""

    reason = "not verified"


class PasskeyCopied(PasskeyRefused):
    """This passkey was refused, because another device seems to have a copy of it. Use your
    password, remove the passkey under Settings, Security, and add a new one."""

    reason = "copied"


class AlreadyAdded(PasskeyRefused):
    """This passkey was added before."""

    reason = "added before"


class TooManyPasskeys(PasskeyRefused):
    """You have 10 passkeys, which is as many as one person can have. Remove one first."""

    reason = "too many"
