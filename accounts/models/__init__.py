"""Defines the models of this package: people, teams, agents, keys, sign-ins and the audit."""

from accounts.models.agents import (
    Agent,
    ApiKey,
    ApiKeyQuerySet,
    ClaimedId,
    SigningSecret,
    SigningSecretQuerySet,
)
from accounts.models.audit import AuditCheckpoint, AuditEntry, AuditEvent, AuditTip
from accounts.models.checkpoints import CheckpointSending, LogCheckpoint, LogKey
from accounts.models.directory import (
    DirectoryAccount,
    DirectoryAccountQuerySet,
    DirectoryGroup,
    user_key_of,
)
from accounts.models.gates import Gate, GateQuerySet
from accounts.models.identities import Identity, ProviderDocument
from accounts.models.key_pairs import KeyPair
from accounts.models.log import LogEntry, LogTeam, LogTile, LogTree, LogWaiting
from accounts.models.moves import MovedKey, MovedMembership, TeamMove
from accounts.models.oauth import ClientPolicy, DeviceSignIn, OAuthGrant
from accounts.models.passkeys import Passkey, PasskeyNotice, PasskeyQuerySet, UsedChallenge
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
from pages.characters.names import SINGLE_LINE

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
    "CheckpointSending",
    "ClaimedId",
    "ClientPolicy",
    "DeviceSignIn",
    "DirectoryAccount",
    "DirectoryAccountQuerySet",
    "DirectoryGroup",
    "Gate",
    "GateQuerySet",
    "Identity",
    "Invitation",
    "InvitationQuerySet",
    "KeyPair",
    "LogCheckpoint",
    "LogEntry",
    "LogKey",
    "LogTeam",
    "LogTile",
    "LogTree",
    "LogWaiting",
    "Membership",
    "MembershipQuerySet",
    "MovedKey",
    "MovedMembership",
    "OAuthGrant",
    "Passkey",
    "PasskeyNotice",
    "PasskeyQuerySet",
    "ProviderDocument",
    "RecoveryCode",
    "ResetRequest",
    "SecondFactor",
    "SecondFactorQuerySet",
    "Session",
    "SignInAttempts",
    "SigningSecret",
    "SigningSecretQuerySet",
    "Team",
    "TeamMove",
    "UsedChallenge",
    "User",
    "UserManager",
    "user_key_of",
]
