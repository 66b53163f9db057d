"""Adds, renames and removes a person's passkeys."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import webauthn
from django.db import IntegrityError, transaction
from django.utils.crypto import salted_hmac
from webauthn.helpers import options_to_json_dict, parse_registration_credential_json
from webauthn.helpers.structs import (
    AuthenticatorSelectionCriteria,
    CredentialDeviceType,
    ResidentKeyRequirement,
    UserVerificationRequirement,
)
from webauthn.registration.verify_registration_response import VerifiedRegistration

from accounts.audit import Actor, record
from accounts.models import Passkey, PasskeyNotice, User
from accounts.sign_in.browsers.sessions import end_all
from accounts.sign_in.passkeys.descriptors import descriptor
from accounts.sign_in.passkeys.notices import queue_notice
from accounts.sign_in.passkeys.refusals import AlreadyAdded, PasskeyRefused, TooManyPasskeys
from accounts.sign_in.passkeys.relying_parties import RelyingParty
from accounts.sign_in.passkeys.responses import check_length
from accounts.sign_in.two_step import second_factor

MAX_PASSKEYS = 10


def creation_options(user: User, party: RelyingParty, challenge: bytes) -> dict[str, Any]:
    """Returns the options of navigator.credentials.create() as JSON. The device is to store the
    passkey together with the person's name, so that the person can sign in without typing a
    name."""
    options = webauthn.generate_registration_options(
        rp_id=party.id,
        rp_name="Wake",
        user_id=_handle(user),
        user_name=user.email,
        user_display_name=user.display_name,
        challenge=challenge,
        timeout=5 * 60_000,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.PREFERRED,
        ),
        exclude_credentials=[descriptor(passkey) for passkey in Passkey.objects.of(user)],
    )
    return options_to_json_dict(options)


def add(
    user: User,
    response: str,
    *,
    name: str,
    party: RelyingParty,
    challenge: bytes,
    by: Actor,
    at: datetime,
) -> list[str]:
    """Adds the passkey that a browser created for this challenge. If the person had no second step
    before, every session ends except the one that the caller keeps. Recovery codes are then
    returned, to be shown once. Raises PasskeyRefused."""
    verified, transports = _verified(response, party, challenge)
    try:
        return _store(user, verified, transports, name=name, by=by, at=at)
    except IntegrityError:
        raise AlreadyAdded from None


@transaction.atomic
def rename(passkey: Passkey, name: str, *, by: Actor) -> None:
    """Renames the passkey. Setting the name that the passkey already has is not recorded."""
    if passkey.name == name:
        return
    record("passkey.renamed", by=by, of=passkey, team=None, name=name)
    passkey.name = name
    passkey.save(update_fields=["name"])


@transaction.atomic
def remove(passkey: Passkey, *, by: Actor, at: datetime) -> None:
    """Removes the passkey, notifies its person, and ends every session except the one that the
    caller keeps, because another session may have begun with this passkey. Without another second
    step, the recovery codes are removed, too."""
    user = User.objects.select_for_update(no_key=True).get(pk=passkey.user_id)
    removed, _ = Passkey.objects.filter(pk=passkey.pk).delete()
    if not removed:
        return
    second_factor.delete_recovery_codes_if_off(user)
    end_all(user)
    record("passkey.removed", by=by, of=user, team=None, name=passkey.name)
    queue_notice(user, PasskeyNotice.Kind.REMOVED, passkey, at=at)


@transaction.atomic
def _store(
    user: User,
    verified: VerifiedRegistration,
    transports: list[str],
    *,
    name: str,
    by: Actor,
    at: datetime,
) -> list[str]:
    User.objects.select_for_update(no_key=True).get(pk=user.pk)  # only one passkey at a time
    if Passkey.objects.of(user).count() >= MAX_PASSKEYS:
        raise TooManyPasskeys
    is_first_step = not second_factor.is_on(user)
    passkey = Passkey.objects.create(
        user=user,
        name=name,
        credential_id=verified.credential_id,
        public_key=verified.credential_public_key,
        sign_count=verified.sign_count,
        transports=transports,
        is_multi_device=verified.credential_device_type == CredentialDeviceType.MULTI_DEVICE,
        is_backed_up=verified.credential_backed_up,
        created_at=at,
    )
    record("passkey.added", by=by, of=user, team=None, name=name)
    queue_notice(user, PasskeyNotice.Kind.ADDED, passkey, at=at)
    if not is_first_step:
        return []
    end_all(user)
    return second_factor.store_recovery_codes(user)


def _verified(
    response: str, party: RelyingParty, challenge: bytes
) -> tuple[VerifiedRegistration, list[str]]:
    """Checks a browser's response. Also returns how the browser reaches the passkey."""
    check_length(response)
    try:
        credential = parse_registration_credential_json(response)
        verified = webauthn.verify_registration_response(
            credential=credential,
            expected_challenge=challenge,
            expected_rp_id=party.id,
            expected_origin=party.origin,
        )
    # The library parses bytes that anyone can send, and raises any exception of its parsers.
    except Exception as error:
        raise PasskeyRefused from error
    return verified, [each.value for each in credential.response.transports or []]


def _handle(user: User) -> bytes:
    """Returns the key under which a device stores this person's passkeys. The key reveals nothing
    about the person (WebAuthn Level 3, 14.6.1)."""
    return salted_hmac("accounts.passkeys", str(user.pk), algorithm="sha256").digest()
