"""Defines the models of this package: people, teams, agents, keys, sessions and the audit."""

from accounts.models.agents import (
    Agent,
    ApiKey,
    ApiKeyQuerySet,
    ClaimedId,
    SigningSecret,
    SigningSecretQuerySet,
)
from accounts.models.audit import AuditCheckpoint, AuditEntry, AuditEvent, AuditTip
from accounts.models.names import SINGLE_LINE
from accounts.models.people import (
    Absence,
    Invitation,
    InvitationQuerySet,
    Membership,
    MembershipQuerySet,
    Team,
    User,
    UserManager,
)
from accounts.models.sign_in import (
    AddressChange,
    RecoveryCode,
    ResetRequest,
    SecondFactor,
    SecondFactorQuerySet,
    Session,
    SignInAttempts,
)

__all__ = [
    "SINGLE_LINE",
    "Absence",
    "AddressChange",
    "Agent",
    "ApiKey",
    "ApiKeyQuerySet",
    "AuditCheckpoint",
    "AuditEntry",
    "AuditEvent",
    "AuditTip",
    "ClaimedId",
    "Invitation",
    "InvitationQuerySet",
    "Membership",
    "MembershipQuerySet",
    "RecoveryCode",
    "ResetRequest",
    "SecondFactor",
    "SecondFactorQuerySet",
    "Session",
    "SignInAttempts",
    "SigningSecret",
    "SigningSecretQuerySet",
    "Team",
    "User",
    "UserManager",
]
