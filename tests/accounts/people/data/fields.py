"""Lists what a removal of an account does to each column that names a person, or could hold a name
or an address. Also lists which models the download of a person contains."""

from __future__ import annotations

# Rows that are deleted with the person.
REMOVED = {
    "accounts.User": "password email display_name time_zone",
    "accounts.User_groups": "user",
    "accounts.User_user_permissions": "user",
    "accounts.Membership": "user",
    "accounts.MovedMembership": "user",
    "accounts.Absence": "user",
    "accounts.Identity": "issuer subject user email directory_id groups",
    "accounts.DirectoryAccount": "user user_name user_key external_id display_name formatted_name"
    " given_name family_name emails",
    "accounts.Passkey": "user name credential_id public_key transports",
    "accounts.PasskeyNotice": "user passkey email",
    "accounts.SecondFactor": "user ciphertext",
    "accounts.RecoveryCode": "user digest",
    "accounts.ResetRequest": "email address",
    "accounts.AddressChange": "user old_email new_email digest",
    "accounts.Session": "session_key session_data user",
    "accounts.DeviceSignIn": "person",
    "oauth2_provider.Application": "user",
    "oauth2_provider.Grant": "user",
    "oauth2_provider.AccessToken": "user",
    "oauth2_provider.RefreshToken": "user",
    "oauth2_provider.IDToken": "user",
    "oauth2_provider.DeviceGrant": "user",
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
# Columns of rows that stay. In these columns, a number, null or an empty value replaces the person.
REPLACED = {
    "accounts.Absence": "deputy",
    "accounts.ApiKey": "issued_by",
    "accounts.Gate": "issued_by",
    "accounts.Invitation": "email accepted_by",
    "accounts.OAuthGrant": "person",
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
    "wake.Failure": "acknowledged_by",
    "wake.Receipt": "person_disclosure vote_disclosures signature_disclosures",
    "wake.Response": "by by_name quorum_json signature_json",
    "wake.RuleVersion": "created_by",
    "wake.Vote": "user name signature_json",
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
        "accounts.LogEntry": "kind salt sha256 hash",
        "accounts.LogTile": "hashes",
        "accounts.LogTree": "root signature verified_root verified_signature",
        "accounts.LogWaiting": "kind sha256",
    },
    AGENT: {
        "wake.Delivery": "claimed_agent_id provider headline summary details_json callback_webhook"
        " assumption thread extensions content_hash idempotency_key idempotency_hash"
        " traceparent withdrawn_reason key_hint nonce",
        "wake.Claim": "idempotency_key key_hint",
        "wake.Outcome": "summary details_json idempotency_key idempotency_hash key_hint",
        "wake.UploadedBlob": "sha256 media_type content uploaded_sha256",
        "inbox.Searchable": "words",
        "inbox.Word": "text",
        "relay.Context": "context_id",
        "relay.Task": "idempotency_key idempotency_hash traceparent source_task network",
        "relay.Message": "message_id parts_json metadata_json request_metadata_json extensions"
        " reference_task_ids accepted_output_modes idempotency_key idempotency_hash",
        "relay.Artifact": "artifact_id name description parts_json metadata_json",
        "relay.Blob": "sha256 media_type content filename",
        "relay.PushConfig": "config_id url token_ciphertext scheme credentials_ciphertext"
        " wire_version",
    },
    DECIDED: {
        "wake.Receipt": "content_disclosures jwt",
        "wake.Response": "feedback edited_json left_out amr",
        "wake.Vote": "content_hash feedback amr",
        # The removal replaces a mention of the person
        # (inbox/delivery/discussion/former_people.py).
        "inbox.Comment": "text",
        "wake.Callback": "kind url host headers_ciphertext body",
        "wake.CallbackAttempt": "error answer",
        "relay.Run": "decision_json",
    },
    TEAM: {
        "accounts.Team": "slug name",
        "accounts.DirectoryGroup": "display_name external_id",
        "accounts.TeamMove": "slug name server ledger servers",
        "accounts.Agent": "agent_id",
        "accounts.ClaimedId": "pattern",
        "accounts.Gate": "name",
        "accounts.ClientPolicy": "hosts",
        "accounts.OAuthGrant": "client_name client_host",
        "wake.Claim": "gate_name",
        "relay.Card": "description version skills input_modes output_modes",
        "relay.CallerKey": "name",
        "relay.Connector": "instance_id machine transport address",
        "wake.Rule": "name",
        # `people` contains ids, which are the numbers that stay after a removal.
        "wake.RuleVersion": "agents types thread_prefix pointer value people escalation",
        "wake.AnsweringRule": "name on_reason",
        "wake.AnsweringVersion": "agents types thread_prefix pointer value",
        "wake.FailingTarget": "host",
        "wake.CallbackHost": "pattern",
    },
    KEY: {
        "accounts.ApiKey": "hint digest",
        "accounts.Gate": "hint digest",
        "accounts.OAuthGrant": "code_digest",
        "accounts.SigningSecret": "ciphertext",
        "accounts.SignInAttempts": "digest",
        "accounts.UsedChallenge": "digest",
        "accounts.MovedKey": "digest",
        "relay.CallerKey": "hint digest",
        "inbox.PushKey": "private_key",
        "wake.ReceiptKey": "kid public_key private_key issuer",
        "accounts.LogKey": "kid public_key private_key name",
        "inbox.SlackRequest": "key",
    },
    "sent or given up within days": {"inbox.SlackReply": "url note"},
    "gone soon after a terminal has signed in, or has not": {
        "accounts.DeviceSignIn": "machine proposed_id address",
        "oauth2_provider.DeviceGrant": "device_code user_code scope client_id",
    },
    "what a client says of itself, and digests of its tokens": {
        "oauth2_provider.Application": "client_id redirect_uris post_logout_redirect_uris"
        " client_secret name allowed_origins",
        "oauth2_provider.Grant": "code redirect_uri scope code_challenge nonce claims resource",
        "oauth2_provider.AccessToken": "token token_checksum scope resource",
        "oauth2_provider.RefreshToken": "token token_checksum resource",
        "oauth2_provider.IDToken": "scope",
    },
    SERVER: {
        "accounts.LogCheckpoint": "root note",
        "wake.CarriedProof": "entry hashes note",
        "accounts.CheckpointSending": "name error result",
        "accounts.ProviderDocument": "url content",
        "admin.LogEntry": "object_id change_message",
        "auth.Permission": "name codename",
        "auth.Group": "name",
        "contenttypes.ContentType": "app_label model",
        "wake.EventCounts": "deliveries responses",
        "wake.Heartbeat": "name",
        "wake.LastBackup": "program folder",
    },
}

# Models that point to a person and are not in the download, with the reason for each.
NOT_DOWNLOADED = {
    "accounts.Session": "listed by browser and time, because its data signs in",
    "accounts.User_groups": "Wake uses no groups",
    "accounts.User_user_permissions": "Wake uses no permissions of one person",
    "accounts.PasskeyNotice": "a mail that leaves within minutes; the passkey is listed",
    "admin.LogEntry": "the audit has the same event",
    "accounts.DeviceSignIn": "a terminal that waits for a few minutes",
    "oauth2_provider.Application": "clients belong to no person; connected_clients lists them",
    "oauth2_provider.Grant": "a code of one minute",
    "oauth2_provider.AccessToken": "a digest; connected_clients lists the client",
    "oauth2_provider.RefreshToken": "a digest; connected_clients lists the client",
    "oauth2_provider.IDToken": "Wake makes none",
    "oauth2_provider.DeviceGrant": "a terminal that waits for a few minutes",
}
