"""Checks that a person has one of their passkeys: the person's browser signs a challenge with the
passkey."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import webauthn
from django.db import transaction
from webauthn.authentication.verify_authentication_response import VerifiedAuthentication
from webauthn.helpers import options_to_json_dict, parse_authentication_credential_json
from webauthn.helpers.structs import AuthenticationCredential, UserVerificationRequirement

from accounts.audit import Actor, record
from accounts.models import Passkey, PasskeyNotice, User
from accounts.sign_in.passkeys.descriptors import descriptor
from accounts.sign_in.passkeys.notices import queue_notice
from accounts.sign_in.passkeys.refusals import (
    NotVerified,
    PasskeyCopied,
    PasskeyRefused,
    UnknownPasskey,
)
from accounts.sign_in.passkeys.relying_parties import RelyingParty
from accounts.sign_in.passkeys.responses import check_length


def request_options(
    party: RelyingParty, challenge: bytes, *, of: User | None, must_verify: bool
) -> dict[str, Any]:
    """Returns the options of navigator.credentials.get() as JSON. Without a person, the device
    offers its own passkeys."""
    passkeys = [] if of is None else list(Passkey.objects.of(of))
    checks = UserVerificationRequirement
    options = webauthn.generate_authentication_options(
        rp_id=party.id,
        challenge=challenge,
        timeout=5 * 60_000,
        allow_credentials=[descriptor(passkey) for passkey in passkeys],
        user_verification=checks.REQUIRED if must_verify else checks.PREFERRED,
    )
    return options_to_json_dict(options)


def parse(response: str) -> AuthenticationCredential:
    """Reads a browser's response. Raises PasskeyRefused."""
    check_length(response)
    try:
        return parse_authentication_credential_json(response)
    except Exception as error:  # as in accounts/sign_in/passkeys/registration.py
        raise PasskeyRefused from error


def find(credential: AuthenticationCredential) -> Passkey | None:
    """Returns the passkey with that id, and its person. Nothing is proved yet."""
    found = Passkey.objects.filter(credential_id=credential.raw_id, user__is_active=True)
    return found.select_related("user").first()


def use(
    passkey: Passkey,
    credential: AuthenticationCredential,
    *,
    party: RelyingParty,
    challenge: bytes,
    must_verify: bool,
    by: Actor,
    at: datetime,
) -> None:
    """Checks the signature, and stores that the passkey was used. With `must_verify`, the device
    must have checked the person (by fingerprint, face or PIN). Raises PasskeyRefused."""
    with transaction.atomic():
        held = Passkey.objects.select_for_update().filter(pk=passkey.pk).first()
        if held is None:
            raise UnknownPasskey
        verified = _verified(held, credential, party, challenge)
        if must_verify and not verified.user_verified:
            raise NotVerified
        is_copy = _is_copy(held.sign_count, verified.new_sign_count)
        if not is_copy:
            held.sign_count, held.last_used_at = verified.new_sign_count, at
            held.is_backed_up = verified.credential_backed_up
            held.save(update_fields=["sign_count", "last_used_at", "is_backed_up"])
    if is_copy:
        _notify_of_copy(passkey, by=by, at=at)
        raise PasskeyCopied


def _verified(
    passkey: Passkey, credential: AuthenticationCredential, party: RelyingParty, challenge: bytes
) -> VerifiedAuthentication:
    try:
        return webauthn.verify_authentication_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
            credential_public_key=bytes(passkey.public_key),
            # The library would check the count before the signature. So anyone could make a passkey
            # look copied, without having its key.
            credential_current_sign_count=0,
        )
    except Exception as error:  # as in accounts/sign_in/passkeys/registration.py
        raise PasskeyRefused from error


def _is_copy(before: int, now: int) -> bool:
    """Returns whether the count of uses did not increase (WebAuthn Level 3, 7.2, step 22). Passkeys
    that several devices share do not count, and send 0."""
    return (before > 0 or now > 0) and now <= before


@transaction.atomic
def _notify_of_copy(passkey: Passkey, *, by: Actor, at: datetime) -> None:
    record("passkey.copied", by=by, of=passkey.user, team=None, name=passkey.name)
    queue_notice(passkey.user, PasskeyNotice.Kind.COPIED, passkey, at=at)
