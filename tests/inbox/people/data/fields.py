"""Says of each column that names a person, or could hold a name or an address, what happens to it
when the person's account is removed, and of each model that points to people whether it is part of
the download."""

from __future__ import annotations

# Rows that go with the person.
REMOVED = {
    "accounts.User": "password email display_name time_zone",
    "accounts.User_groups": "user",
    "accounts.User_user_permissions": "user",
    "accounts.Membership": "user",
    "accounts.Absence": "user",
    "accounts.Identity": "issuer subject user email",
    "accounts.Passkey": "user name credential_id public_key transports",
    "accounts.PasskeyNotice": "user passkey email",
    "accounts.SecondFactor": "user ciphertext",
    "accounts.RecoveryCode": "user digest",
    "accounts.ResetRequest": "email address",
    "accounts.AddressChange": "user old_email new_email digest",
    "accounts.Session": "session_key session_data user",
    "accounts.Invitation": "invited_by digest",
    "admin.LogEntry": "user",
    "inbox.Preferences": "user saved_views digest_days quiet_days digest_error",
    "inbox.Channel": "user kind name address secret error",
    "inbox.NotificationRule": "events agents quiet_days",
    "inbox.Notification": "key",
    "inbox.Mention": "user",
    "inbox.Reading": "user",
    "inbox.Snooze": "user",
    "inbox.SavedReply": "user name text",
    "inbox.Reminder": "user",
    "wake.Draft": "user feedback edited_json",
}
# Columns of rows that stay: the number, no one, or nothing stands there afterwards.
REPLACED = {
    "accounts.Absence": "deputy",
    "accounts.ApiKey": "issued_by",
    "accounts.Invitation": "email accepted_by",
    "admin.LogEntry": "object_repr",
    "inbox.Channel": "added_by",
    "inbox.Comment": "author author_name",
    "relay.CallerKey": "issued_by",
    "relay.Message": "by_name",
    "wake.AnsweringRule": "on_by",
    "wake.AnsweringVersion": "created_by",
    "wake.AssignedPerson": "user name deputy_for",
    "wake.Callback": "asked_by_name",
    "wake.CallbackAttempt": "by_name",
    "wake.Delivery": "acknowledged_by",
    "wake.Response": "by by_name quorum_json",
    "wake.RuleVersion": "created_by",
    "wake.Vote": "user name",
}
AUDIT = "the audit proves who decided what, and cannot be changed"
AGENT = "an agent or a caller wrote it, and people decided on exactly this; retention erases it"
DECIDED = "what a person decided, in their words; the agent may have it already"
TEAM = "the team's own, set by its owners"
KEY = "a secret or a digest, which names no one"
SERVER = "about the server or a protocol, and names no one"
KEPT: dict[str, dict[str, str]] = {
    AUDIT: {
        "accounts.AuditEvent": "event actor_kind actor_id actor_name object_kind object_id"
        " object_name address detail",
        "accounts.AuditEntry": "hash",
        "accounts.AuditTip": "hash signature",
        "accounts.AuditCheckpoint": "writers signature",
    },
    AGENT: {
        "wake.Delivery": "claimed_agent_id provider headline summary details_json callback_webhook"
        " assumption thread extensions content_hash idempotency_key idempotency_hash"
        " withdrawn_reason key_hint",
        "wake.UploadedBlob": "sha256 media_type content uploaded_sha256",
        "inbox.Searchable": "words",
        "inbox.Word": "text",
        "relay.Context": "context_id",
        "relay.Task": "idempotency_key idempotency_hash source_task network",
        "relay.Message": "message_id parts_json metadata_json reference_task_ids"
        " accepted_output_modes idempotency_key idempotency_hash",
        "relay.Artifact": "artifact_id name description parts_json metadata_json",
        "relay.Blob": "sha256 media_type content filename",
        "relay.PushConfig": "config_id url token_ciphertext scheme credentials_ciphertext"
        " wire_version",
    },
    DECIDED: {
        "wake.Response": "feedback edited_json left_out",
        "wake.Vote": "content_hash feedback",
        # A mention of the person in it is replaced (inbox/people/data/removal.py).
        "inbox.Comment": "text",
        "wake.Callback": "kind url host headers_ciphertext body",
        "wake.CallbackAttempt": "error answer",
        "relay.Run": "decision_json",
    },
    TEAM: {
        "accounts.Team": "slug name",
        "accounts.Agent": "agent_id",
        "accounts.ClaimedId": "pattern",
        "relay.Card": "description version skills input_modes output_modes",
        "relay.CallerKey": "name",
        "relay.Connector": "instance_id machine transport address",
        "wake.Rule": "name",
        # `people` has ids, which are the numbers.
        "wake.RuleVersion": "agents types thread_prefix pointer value people escalation",
        "wake.AnsweringRule": "name on_reason",
        "wake.AnsweringVersion": "agents types thread_prefix pointer value",
        "wake.FailingTarget": "host",
        "wake.CallbackHost": "pattern",
    },
    KEY: {
        "accounts.ApiKey": "hint digest",
        "accounts.SigningSecret": "ciphertext",
        "accounts.SignInAttempts": "digest",
        "accounts.UsedChallenge": "digest",
        "relay.CallerKey": "hint digest",
        "inbox.PushKey": "private_key",
        "inbox.SlackRequest": "key",
    },
    "sent or given up within days": {"inbox.SlackReply": "url note"},
    SERVER: {
        "accounts.ProviderDocument": "url content",
        "admin.LogEntry": "object_id change_message",
        "auth.Permission": "name codename",
        "auth.Group": "name",
        "contenttypes.ContentType": "app_label model",
        "wake.Heartbeat": "name",
    },
}

# Models that point to a person and are not in the download, each with the reason.
NOT_DOWNLOADED = {
    "accounts.Session": "listed by browser and time, because its data signs in",
    "accounts.User_groups": "Wake uses no groups",
    "accounts.User_user_permissions": "Wake uses no permissions of one person",
    "accounts.PasskeyNotice": "a mail that leaves within minutes; the passkey is listed",
    "admin.LogEntry": "the audit has the same event",
}
