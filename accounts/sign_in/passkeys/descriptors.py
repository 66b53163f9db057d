"""Describes stored passkeys to browsers."""

from __future__ import annotations

from webauthn.helpers.structs import AuthenticatorTransport, PublicKeyCredentialDescriptor

from accounts.models import Passkey


def descriptor(passkey: Passkey) -> PublicKeyCredentialDescriptor:
    known = [AuthenticatorTransport(each) for each in passkey.transports]
    return PublicKeyCredentialDescriptor(id=bytes(passkey.credential_id), transports=known)
