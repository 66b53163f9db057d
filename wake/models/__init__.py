"""Defines deliveries, their assignments, people's answers, and the callbacks that carry answers."""

from wake.models.answering_rules import AnsweringRule, AnsweringVersion, Trial, TriedUntil
from wake.models.blobs import Attachment, File, StoredFile, UploadedBlob
from wake.models.callbacks import Callback, CallbackAttempt, CallbackHost, FailingTarget
from wake.models.claims import (
    CarriedProof,
    Claim,
    Failure,
    Outcome,
    Receipt,
    ReceiptKey,
    claimable_until,
)
from wake.models.deliveries import Delivery, DeliveryQuerySet
from wake.models.own_records import EventCounts, Heartbeat, LastBackup, ServerSample
from wake.models.responses import Draft, Response
from wake.models.retention import Retention
from wake.models.rules import AssignedPerson, Assignment, Rule, RuleVersion
from wake.models.sights import Place, Sight
from wake.models.votes import Vote

__all__ = [
    "AnsweringRule",
    "AnsweringVersion",
    "AssignedPerson",
    "Assignment",
    "Attachment",
    "Callback",
    "CallbackAttempt",
    "CallbackHost",
    "CarriedProof",
    "Claim",
    "Delivery",
    "DeliveryQuerySet",
    "Draft",
    "EventCounts",
    "FailingTarget",
    "Failure",
    "File",
    "Heartbeat",
    "LastBackup",
    "Outcome",
    "Place",
    "Receipt",
    "ReceiptKey",
    "Response",
    "Retention",
    "Rule",
    "RuleVersion",
    "ServerSample",
    "Sight",
    "StoredFile",
    "Trial",
    "TriedUntil",
    "UploadedBlob",
    "Vote",
    "claimable_until",
]
