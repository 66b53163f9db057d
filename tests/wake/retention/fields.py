"""Lists for each column of the database whether retention erases it, and if not, why it stays."""

from __future__ import annotations

from typing import Any

from django.apps import apps

EMPTY: tuple[Any, ...] = (None, "", b"", "[]", [], {}, 0)
ERASED = "erased"
ID = "an ID that Wake made"
LINK = "says which rows belong together"
WHEN = "a time"
HOW = "what happened, from a list of words, or a number"
WHO = "who did it; removing the person replaces it"
THEIRS = "an ID that the other side made and goes on asking for"
HASH = "proves what was approved, and holds no words"
QUEUE = "gone within days, when it was sent or given up"

# The rows of these models belong to a delivery, or to a task that people were shown.
OF_DELIVERIES: dict[str, dict[str, str]] = {
    "wake.Delivery": {
        ERASED: "provider headline summary details_json callback_webhook assumption thread"
        " extensions idempotency_key idempotency_hash traceparent withdrawn_reason nonce",
        ID: "id",
        LINK: "team agent supersedes assignment",
        WHEN: "created_at expires_at activity_at answered_at timed_out_at superseded_at"
        " withdrawn_at acknowledged_at erased_at escalates_at",
        HOW: "mode type timeout_seconds on_timeout priority quorum steps_done irreversible"
        " is_internal status wants_digest wants_receipt claim_within_seconds"
        " needs_signature",
        WHO: "acknowledged_by",
        HASH: "content_hash",
        "a sweep may ask for it, and an owner granted it": "claimed_agent_id",
        "the beginning of the key, which owners see anyway": "key_hint",
    },
    "wake.Response": {
        ERASED: "feedback edited_json left_out signature_json",
        ID: "id",
        LINK: "delivery rule_version",
        WHEN: "answered_at release_at responded_at sent_at picked_up_at auth_time opened_at",
        HOW: "status picked_up_by place all_in_sight amr",
        WHO: "by by_name quorum_json",
    },
    "wake.Claim": {
        ID: "id",
        LINK: "response gate",
        WHEN: "claimed_at",
        THEIRS: "idempotency_key",
        "the beginning of the key, which owners see anyway": "key_hint",
        "owners named it": "gate_name",
    },
    "wake.Outcome": {
        ERASED: "summary details_json idempotency_key idempotency_hash",
        ID: "id",
        LINK: "delivery",
        WHEN: "reported_at",
        HOW: "status",
        "the beginning of the key, which owners see anyway": "key_hint",
    },
    "wake.Receipt": {
        ERASED: "content_disclosures signature_disclosures",
        ID: "id",
        LINK: "response key",
        WHEN: "issued_at",
        HOW: "is_claimed",
        WHO: "person_disclosure vote_disclosures",
        HASH: "jwt",
    },
    "wake.CarriedProof": {
        LINK: "receipt",
        HASH: "index entry hashes note",
    },
    "wake.Failure": {
        LINK: "delivery team outcome",
        WHEN: "failed_at acknowledged_at",
        WHO: "acknowledged_by",
    },
    "wake.Draft": {ERASED: "id delivery user feedback edited_json saved_at"},
    "wake.Vote": {
        ERASED: "feedback signature_json",
        ID: "id",
        LINK: "delivery",
        WHEN: "voted_at auth_time opened_at",
        HOW: "place all_in_sight amr",
        WHO: "user name",
        HASH: "content_hash",
    },
    "wake.Trial": {
        ID: "id",
        LINK: "delivery version",
        WHEN: "created_at due_at approved_at taken_back_at",
    },
    "wake.Callback": {
        ERASED: "url headers_ciphertext body",
        ID: "id lease",
        LINK: "response agent team",
        WHEN: "created_at due_at leased_until delivered_at given_up_at erased_at",
        HOW: "kind tries",
        WHO: "asked_by_name",
        "the kind of thing that it is about, and its ID": "about",
        "owners allowed it": "host",
    },
    "wake.CallbackAttempt": {
        ERASED: "answer",
        ID: "id",
        LINK: "callback",
        WHEN: "started_at",
        HOW: "number took_ms status_code",
        WHO: "by_name",
        "Wake's own words for a failure": "error",
    },
    "wake.Attachment": {ERASED: "id delivery blob"},
    "wake.UploadedBlob": {
        ERASED: "id sha256 size media_type content created_at team agent mode uploaded_sha256"
        " is_picture is_animated width height expires_at",
    },
    "wake.Assignment": {
        ID: "id",
        LINK: "team rule_version",
        WHEN: "current_until",
        HOW: "only_they",
    },
    "wake.AssignedPerson": {
        ID: "id",
        LINK: "assignment",
        WHEN: "taken_at added_after",
        WHO: "user name deputy_for",
    },
    "inbox.Comment": {
        ERASED: "text",
        ID: "id",
        LINK: "delivery",
        WHEN: "written_at removed_at",
        WHO: "author author_name",
    },
    "inbox.Mention": {ERASED: "id user delivery comment seen_at"},
    "inbox.Searchable": {ERASED: "id delivery words time_buckets"},
    "inbox.Word": {ERASED: "text"},
    "inbox.Reading": {
        ID: "id",
        LINK: "delivery",
        WHO: "user",
        WHEN: "opened_at reading_until marked_unread_at",
    },
    "inbox.Snooze": {ID: "id", LINK: "delivery", WHO: "user", WHEN: "until"},
    "inbox.Reminder": {ID: "id", LINK: "delivery", WHO: "user", WHEN: "sent_at"},
    "inbox.Notification": {
        QUEUE: "id channel event delivery key created_at due_at message_id claimed_at outcome"
    },
    "inbox.SlackReply": {QUEUE: "id url note channel delivery tries due_at"},
    "inbox.SlackRequest": {QUEUE: "key received_at"},
    "relay.Task": {
        ERASED: "idempotency_key idempotency_hash traceparent stored_bytes network",
        ID: "id",
        LINK: "agent context caller status_message",
        WHEN: "status_at created_at terminal_at erased_at",
        HOW: "state generation is_direct source_generation hop",
        THEIRS: "source_task",
    },
    "relay.Context": {
        ID: "id",
        LINK: "agent caller",
        WHEN: "created_at",
        THEIRS: "context_id",
    },
    "relay.Message": {
        ERASED: "parts_json metadata_json request_metadata_json extensions reference_task_ids"
        " idempotency_key idempotency_hash",
        ID: "id",
        LINK: "task context",
        WHEN: "created_at",
        HOW: "source accepted_output_modes",
        WHO: "by_name",
        THEIRS: "message_id",
    },
    "relay.Artifact": {
        ERASED: "name description parts_json metadata_json",
        ID: "id",
        LINK: "task",
        WHEN: "created_at",
        HOW: "begins",
        THEIRS: "artifact_id",
    },
    "relay.Blob": {ERASED: "id sha256 size media_type content created_at task filename"},
    "relay.Event": {
        ID: "id",
        LINK: "task message artifact",
        WHEN: "at push_due_at",
        HOW: "generation kind state first_part part_count is_last_piece",
    },
    "relay.TaskDelivery": {LINK: "delivery task", HOW: "generation"},
    "relay.TaskReference": {ID: "id", LINK: "task earlier"},
    "relay.PushConfig": {
        ERASED: "id task config_id url token_ciphertext scheme credentials_ciphertext wire_version"
        " after_generation created_at",
    },
    "relay.PushNotification": {ID: "id", LINK: "config task callback", HOW: "generation"},
    "relay.Run": {
        ERASED: "decision_json",
        ID: "id lease",
        LINK: "agent task message connector",
        WHEN: "leased_until cancel_asked_at cancel_told_at created_at started_at finished_at",
        HOW: "state attempts progress refused_from",
    },
}

# The other models are about the server, teams, agents and people, and not about one delivery.
OF_OTHERS: dict[str, str] = {
    "how the server works": "wake.Heartbeat wake.EventCounts wake.ServerSample"
    " wake.LastBackup wake.ReceiptKey inbox.PushKey"
    " accounts.ProviderDocument accounts.LogKey accounts.LogCheckpoint accounts.CheckpointSending"
    " accounts.UsedChallenge accounts.SignInAttempts auth.Permission auth.Group"
    " auth.Group_permissions contenttypes.ContentType admin.LogEntry",
    "how far a job has come": "wake.TriedUntil inbox.NotedUntil inbox.IndexedUntil",
    "what owners set for a team": "accounts.Team accounts.Invitation wake.Rule wake.RuleVersion"
    " wake.AnsweringRule wake.AnsweringVersion wake.CallbackHost wake.FailingTarget"
    " wake.Retention accounts.ClientPolicy",
    "where a team that moved is": "accounts.TeamMove accounts.MovedKey accounts.MovedMembership",
    "an agent and its keys": "accounts.Agent accounts.ClaimedId accounts.ApiKey"
    " accounts.SigningSecret accounts.Gate accounts.Gate_agents relay.Card relay.Card_callers"
    " relay.CallerKey relay.Connector accounts.OAuthGrant",
    "clients that sign in, and hashes of their tokens": "oauth2_provider.Application"
    " oauth2_provider.Grant oauth2_provider.AccessToken"
    " oauth2_provider.RefreshToken oauth2_provider.IDToken oauth2_provider.DeviceGrant"
    " accounts.DeviceSignIn",
    "a person, their sign-in and their settings (accounts, removal)": "accounts.User"
    " accounts.User_groups accounts.User_user_permissions accounts.Membership accounts.Absence"
    " accounts.Identity accounts.DirectoryAccount accounts.DirectoryGroup"
    " accounts.DirectoryGroup_members accounts.Passkey accounts.PasskeyNotice accounts.SecondFactor"
    " accounts.RecoveryCode accounts.ResetRequest accounts.AddressChange accounts.Session"
    " inbox.Preferences inbox.Channel inbox.NotificationRule inbox.SavedReply",
    "the audit cannot be erased, and so holds no words of a delivery": "accounts.AuditEvent"
    " accounts.AuditEntry accounts.AuditTip accounts.AuditCheckpoint accounts.LogEntry"
    " accounts.LogTile accounts.LogTree accounts.LogTeam accounts.LogWaiting",
}


def erased_fields() -> dict[str, set[str]]:
    """Returns the erased columns by model."""
    return {
        label: set(fields[ERASED].split())
        for label, fields in OF_DELIVERIES.items()
        if ERASED in fields
    }


def filled(label: str) -> set[str]:
    """Returns the columns of a model that have a value in any of its rows."""
    rows = list(apps.get_model(label).objects.all())
    names = [field.attname for field in apps.get_model(label)._meta.concrete_fields]
    filled = {name for row in rows for name in names if _value(row, name) not in EMPTY}
    return {name.removesuffix("_id") for name in filled} | (filled & {"config_id"})


def _value(row: Any, name: str) -> Any:
    value = getattr(row, name)
    return bytes(value) if isinstance(value, memoryview) else value
