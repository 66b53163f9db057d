"""Maps the addresses of the pages to their views."""

from django.urls import path

from inbox.agents import (
    alias_views,
    archive_views,
    key_views,
    limit_views,
    pause_views,
    registration_views,
    secret_views,
)
from inbox.agents import views as agent_views
from inbox.agents.connect import views as connect_views
from inbox.answering import batch_views, saved_reply_views
from inbox.answering import views as answering_views
from inbox.answering.editing import views as editing_views
from inbox.assignment import answering_rule_views, rule_views, take_views, try_views
from inbox.audit import views as audit_views
from inbox.callbacks import allowlist_views, test_callback_views
from inbox.callbacks import views as callback_views
from inbox.deadlines import views as deadline_views
from inbox.delivery import file_views
from inbox.delivery import views as delivery_views
from inbox.delivery.discussion import views as discussion_views
from inbox.history import views as history_views
from inbox.list import acknowledgement_views
from inbox.list import views as list_views
from inbox.list.live import views as live_views
from inbox.list.snoozing import views as snoozing_views
from inbox.notifications.channels import channel_views
from inbox.notifications.channels import views as channel_list_views
from inbox.notifications.slack import views as slack_views
from inbox.notifications.web_push import views as web_push_views
from inbox.pages import go, help, install
from inbox.people.data import views as data_views
from inbox.people.passkeys import settings_views as passkey_settings_views
from inbox.people.passkeys import sign_in_views as passkey_views
from inbox.people.settings import absence_views, address_views, profile_views
from inbox.people.settings import views as settings_views
from inbox.people.sign_in import (
    password_reset_views,
    provider_views,
    reauthentication,
    security_views,
)
from inbox.people.sign_in import views as sign_in_views
from inbox.people.teams import invitation_views, member_views, retention_views
from inbox.people.teams import views as team_views
from inbox.search import views as search_views
from inbox.statistics import views as statistics_views

urlpatterns = [
    path("slack/interactions", slack_views.slack_interactions, name="slack-interactions"),
    path("", list_views.inbox_list, name="inbox"),
    path("pulse", list_views.inbox_updates, name="inbox-updates"),
    path("live", live_views.live, name="live"),
    path("acknowledgements", acknowledgement_views.acknowledge_selected, name="acknowledge"),
    path(
        "acknowledgements/undo", acknowledgement_views.undo_acknowledgement, name="acknowledge-undo"
    ),
    path("batch/", batch_views.batch_review_page, name="batch"),
    path("batch/answer", batch_views.send_batch, name="batch-answer"),
    path("batch/<uuid:pk>/", batch_views.batch_result, name="batch-result"),
    path("batch/<uuid:pk>/undo", batch_views.undo_batch, name="batch-undo"),
    path("selection", list_views.act_on_selection, name="selection"),
    path("welcome/", connect_views.welcome_page, name="welcome"),
    path("login/", sign_in_views.SignIn.as_view(), name="login"),
    path("login/code/", sign_in_views.sign_in_code, name="sign-in-code"),
    path("login/passkey", passkey_views.sign_in_with_passkey, name="passkey"),
    path("login/passkey/options", passkey_views.offer_sign_in, name="passkey-options"),
    path("login/code/passkey", passkey_views.take_second_step, name="passkey-second-step"),
    path(
        "login/code/passkey/options",
        passkey_views.offer_second_step,
        name="passkey-second-step-options",
    ),
    path("login/reset/", password_reset_views.request_reset, name="reset"),
    path("login/reset/asked/", password_reset_views.reset_requested, name="reset-requested"),
    path(
        "login/reset/<str:uidb64>/<str:token>/",
        password_reset_views.NewPassword.as_view(),
        name="reset-password",
    ),
    path("login/provider/", provider_views.begin_sign_in, name="provider"),
    path("login/provider/back/", provider_views.come_back, name="provider-back"),
    path("login/address/<str:token>/", address_views.restore_address, name="restore-address"),
    path("logout/", sign_in_views.SignOut.as_view(), name="logout"),
    path("join/<str:token>/", invitation_views.join_team, name="join"),
    path("sudo/", reauthentication.confirm_password, name="confirm-password"),
    path("sudo/provider", provider_views.ask_again, name="confirm-with-provider"),
    path("sudo/passkey", passkey_views.confirm_with_passkey, name="confirm-with-passkey"),
    path(
        "sudo/passkey/options",
        passkey_views.offer_confirmation,
        name="confirm-with-passkey-options",
    ),
    path("deliveries/<uuid:pk>/", delivery_views.delivery_detail, name="delivery"),
    path("deliveries/<uuid:pk>/pulse", delivery_views.delivery_updates, name="delivery-updates"),
    path("deliveries/<uuid:pk>/assignment", take_views.take_delivery, name="take"),
    path("deliveries/<uuid:pk>/raw", delivery_views.raw_details, name="raw-details"),
    path("deliveries/<uuid:pk>/images/<slug:digest>", file_views.picture, name="picture"),
    path("deliveries/<uuid:pk>/files/<uuid:blob>", file_views.download_file, name="file"),
    path("deliveries/<uuid:pk>/edit", editing_views.delivery_editor, name="editor"),
    path("deliveries/<uuid:pk>/response", answering_views.answer_delivery, name="response"),
    path("deliveries/<uuid:pk>/continue", answering_views.continue_answer, name="continue-answer"),
    path("deliveries/<uuid:pk>/undo", answering_views.undo_answer, name="undo"),
    path(
        "deliveries/<uuid:pk>/saved-replies",
        answering_views.insert_saved_reply,
        name="insert-saved-reply",
    ),
    path("deliveries/<uuid:pk>/snooze", snoozing_views.snooze_delivery, name="snooze"),
    path("deliveries/<uuid:pk>/snooze/undo", snoozing_views.unsnooze_delivery, name="unsnooze"),
    path("deliveries/<uuid:pk>/reading", delivery_views.mark_unread, name="mark-unread"),
    path("deliveries/<uuid:pk>/comments", discussion_views.write_comment, name="comment"),
    path(
        "deliveries/<uuid:pk>/comments/<uuid:comment>/remove",
        discussion_views.remove_comment,
        name="comment-remove",
    ),
    path("mentions/", discussion_views.mention_list, name="mentions"),
    path("snoozed/", snoozing_views.snoozed_list, name="snoozed"),
    path("snoozed/choices", snoozing_views.choose_snooze, name="snooze-choices"),
    path("snoozed/add", snoozing_views.snooze_selected, name="snooze-selected"),
    path("views", search_views.save_search, name="save-view"),
    path("views/remove", search_views.remove_saved_view, name="remove-view"),
    path("history/", history_views.history_list, name="history"),
    path("closing-soon/", deadline_views.closing_soon_list, name="closing-soon"),
    path("missed-deadlines/", deadline_views.missed_deadline_list, name="missed-deadlines"),
    path("agents/", agent_views.agent_list, name="agents"),
    path("agents/new/", registration_views.register_agent, name="agent-new"),
    path("agents/<uuid:pk>/", agent_views.agent_detail, name="agent"),
    path("agents/<uuid:pk>/statistics/", statistics_views.agent_statistics, name="statistics"),
    path(
        "agents/<uuid:pk>/statistics/export.csv", statistics_views.export_csv, name="statistics-csv"
    ),
    path(
        "agents/<uuid:pk>/statistics/export.json",
        statistics_views.export_json,
        name="statistics-json",
    ),
    path("agents/<uuid:pk>/connect/", connect_views.connect_agent, name="connect"),
    path("agents/<uuid:pk>/connect/pulse", connect_views.connect_updates, name="connect-updates"),
    path("agents/<uuid:pk>/pause", pause_views.pause_agent, name="agent-pause"),
    path("agents/<uuid:pk>/resume", pause_views.resume_agent, name="agent-resume"),
    path("agents/<uuid:pk>/archive", archive_views.archive_agent, name="agent-archive"),
    path("agents/<uuid:pk>/restore", archive_views.restore_agent, name="agent-restore"),
    path("agents/<uuid:pk>/limit/", limit_views.agent_limit, name="agent-limit"),
    path("agents/<uuid:pk>/keys/new/", key_views.issue_key, name="agent-key-new"),
    path("agents/<uuid:pk>/keys/<uuid:key>/rotate/", key_views.rotate_key, name="agent-key-rotate"),
    path("agents/<uuid:pk>/keys/<uuid:key>/revoke/", key_views.revoke_key, name="agent-key-revoke"),
    path("agents/<uuid:pk>/secret/", secret_views.rotate_secret, name="agent-secret"),
    path("agents/<uuid:pk>/secret/switch", secret_views.switch_secret, name="agent-secret-switch"),
    path(
        "agents/<uuid:pk>/test-callback/",
        test_callback_views.test_callback,
        name="agent-test-callback",
    ),
    path("agents/<uuid:pk>/aliases/", alias_views.agent_aliases, name="agent-aliases"),
    path(
        "agents/<uuid:pk>/aliases/<int:alias>/remove",
        alias_views.remove_alias,
        name="agent-alias-remove",
    ),
    path("go/", go.go, name="go"),
    path("manifest.webmanifest", install.manifest, name="manifest"),
    path("offline/", install.offline, name="offline"),
    path("service-worker.js", install.service_worker, name="service-worker"),
    path("help/keyboard-shortcuts", help.keyboard_help, name="keyboard-help"),
    path("callbacks/", callback_views.callback_list, name="callbacks"),
    path("callbacks/<uuid:pk>/", callback_views.callback_detail, name="callback"),
    path("callbacks/<uuid:pk>/replay", callback_views.replay_callback, name="replay"),
    path(
        "callbacks/targets/<uuid:pk>/resume", callback_views.resume_target, name="resume-callbacks"
    ),
    path("audit/", audit_views.audit_list, name="audit"),
    path("audit/<int:pk>/", audit_views.audit_event, name="audit-event"),
    path("audit/head.json", audit_views.chain_tips_json, name="audit-tips"),
    path("audit/export.csv", audit_views.export_csv, name="audit-csv"),
    path("audit/export.jsonl", audit_views.export_jsonl, name="audit-jsonl"),
    path("settings/", settings_views.settings_start, name="settings"),
    path("settings/profile/", profile_views.profile, name="settings-profile"),
    path("settings/address/", address_views.change_address, name="settings-address"),
    path("settings/address/<str:token>/", address_views.confirm_address, name="confirm-address"),
    path("settings/password/", profile_views.password, name="settings-password"),
    path(
        "settings/keyboard-shortcuts/", settings_views.keyboard_settings, name="settings-keyboard"
    ),
    path("settings/answering/", settings_views.answering_settings, name="settings-answering"),
    path("settings/theme/", settings_views.theme_settings, name="settings-theme"),
    path("settings/digest/", settings_views.digest_settings, name="settings-digest"),
    path("settings/quiet-hours/", settings_views.quiet_hours_settings, name="settings-quiet-hours"),
    path(
        "settings/notifications/",
        channel_list_views.notification_settings,
        name="settings-notifications",
    ),
    path(
        "settings/notifications/add/",
        channel_list_views.add_channel,
        name="settings-channel-new",
    ),
    path(
        "settings/notifications/browser/", web_push_views.add_browser, name="settings-browser-new"
    ),
    path(
        "settings/notifications/browser/renewal",
        web_push_views.renewal,
        name="settings-browser-renewal",
    ),
    path(
        "settings/notifications/teams/<slug:slug>/add/",
        channel_list_views.add_team_channel,
        name="settings-team-channel-new",
    ),
    path(
        "settings/notifications/<uuid:pk>/",
        channel_views.channel,
        name="settings-channel",
    ),
    path(
        "settings/notifications/<uuid:pk>/code",
        channel_views.send_code,
        name="settings-channel-code",
    ),
    path(
        "settings/notifications/<uuid:pk>/test",
        channel_views.send_test,
        name="settings-channel-test",
    ),
    path(
        "settings/notifications/<uuid:pk>/remove",
        channel_views.remove_channel,
        name="settings-channel-remove",
    ),
    path("settings/data/", data_views.data_settings, name="settings-data"),
    path("settings/data/download", data_views.download_data, name="settings-data-download"),
    path("settings/data/remove/", data_views.remove_account, name="settings-data-remove"),
    path("settings/absence/", absence_views.absence_settings, name="settings-absence"),
    path(
        "settings/saved-replies/", saved_reply_views.saved_reply_list, name="settings-saved-replies"
    ),
    path(
        "settings/saved-replies/<uuid:pk>/",
        saved_reply_views.saved_reply_detail,
        name="settings-saved-reply",
    ),
    path(
        "settings/saved-replies/<uuid:pk>/remove",
        saved_reply_views.remove_saved_reply,
        name="settings-saved-reply-remove",
    ),
    path("settings/security/", security_views.security_settings, name="settings-security"),
    path(
        "settings/security/elsewhere",
        security_views.sign_out_elsewhere,
        name="settings-sign-out-elsewhere",
    ),
    path(
        "settings/security/everywhere",
        security_views.sign_out_everywhere,
        name="settings-sign-out-everywhere",
    ),
    path(
        "settings/security/codes/",
        security_views.set_up_second_factor,
        name="settings-second-factor",
    ),
    path(
        "settings/security/codes/off/",
        security_views.turn_off_second_factor,
        name="settings-second-factor-off",
    ),
    path(
        "settings/security/recovery-codes",
        security_views.renew_recovery_codes,
        name="settings-recovery-codes",
    ),
    path(
        "settings/security/provider/connect",
        provider_views.connect_account,
        name="settings-provider-connect",
    ),
    path(
        "settings/security/provider/disconnect",
        provider_views.disconnect_account,
        name="settings-provider-disconnect",
    ),
    path(
        "settings/security/passkeys/new/",
        passkey_settings_views.add_passkey,
        name="settings-passkey-new",
    ),
    path(
        "settings/security/passkeys/new/options",
        passkey_settings_views.offer_new_passkey,
        name="settings-passkey-new-options",
    ),
    path(
        "settings/security/passkeys/<uuid:pk>/",
        passkey_settings_views.passkey_detail,
        name="settings-passkey",
    ),
    path(
        "settings/security/passkeys/<uuid:pk>/remove",
        passkey_settings_views.remove_passkey,
        name="settings-passkey-remove",
    ),
    path("settings/teams/", team_views.team_settings, name="settings-teams"),
    path("settings/teams/<slug:slug>/name", team_views.rename_team, name="settings-team-name"),
    path(
        "settings/teams/<slug:slug>/second-factor",
        team_views.require_second_factor,
        name="settings-team-second-factor",
    ),
    path("settings/members/", member_views.member_list, name="settings-members"),
    path("settings/members/<slug:slug>/leave/", member_views.leave_team, name="settings-leave"),
    path(
        "settings/members/<slug:slug>/invite/",
        invitation_views.invite_member,
        name="settings-invite",
    ),
    path(
        "settings/members/<slug:slug>/invitations/<uuid:pk>/revoke",
        invitation_views.revoke_invitation,
        name="settings-invitation-revoke",
    ),
    path(
        "settings/members/<slug:slug>/<int:pk>/", member_views.member_detail, name="settings-member"
    ),
    path(
        "settings/members/<slug:slug>/<int:pk>/role", member_views.change_role, name="settings-role"
    ),
    path(
        "settings/members/<slug:slug>/<int:pk>/remove",
        member_views.remove_member,
        name="settings-remove",
    ),
    path(
        "settings/members/<slug:slug>/<int:pk>/hand-over",
        member_views.transfer_ownership,
        name="settings-transfer-ownership",
    ),
    path("settings/retention/", retention_views.retention_settings, name="settings-retention"),
    path(
        "settings/retention/<slug:slug>/keep",
        retention_views.change_retention,
        name="settings-retention-keep",
    ),
    path("settings/rules/", rule_views.rule_settings, name="settings-rules"),
    path("settings/rules/<slug:slug>/", rule_views.team_rules, name="settings-team-rules"),
    path("settings/rules/<slug:slug>/new/", rule_views.add_rule, name="settings-rule-new"),
    path(
        "settings/rules/<slug:slug>/answering/new/",
        answering_rule_views.add_answering_rule,
        name="settings-answering-rule-new",
    ),
    path(
        "settings/rules/<slug:slug>/answering/<uuid:pk>/",
        answering_rule_views.answering_rule,
        name="settings-answering-rule",
    ),
    path(
        "settings/rules/<slug:slug>/answering/<uuid:pk>/change/",
        answering_rule_views.change_answering_rule,
        name="settings-answering-rule-change",
    ),
    path(
        "settings/rules/<slug:slug>/answering/<uuid:pk>/switch",
        answering_rule_views.switch_answering_rule,
        name="settings-answering-rule-switch",
    ),
    path(
        "settings/rules/<slug:slug>/answering/<uuid:pk>/again",
        answering_rule_views.answer_again,
        name="settings-answering-rule-again",
    ),
    path(
        "settings/rules/<slug:slug>/answering/<uuid:pk>/remove",
        answering_rule_views.remove_answering_rule,
        name="settings-answering-rule-remove",
    ),
    path("settings/rules/<slug:slug>/try/", try_views.try_rules, name="settings-rules-try"),
    path("settings/rules/<slug:slug>/<uuid:pk>/", rule_views.change_rule, name="settings-rule"),
    path(
        "settings/rules/<slug:slug>/<uuid:pk>/move",
        rule_views.move_rule,
        name="settings-rule-move",
    ),
    path(
        "settings/rules/<slug:slug>/<uuid:pk>/switch",
        rule_views.switch_rule,
        name="settings-rule-switch",
    ),
    path(
        "settings/rules/<slug:slug>/<uuid:pk>/remove",
        rule_views.remove_rule,
        name="settings-rule-remove",
    ),
    path("settings/allowlist/", allowlist_views.allowlist, name="settings-allowlist"),
    path("settings/allowlist/<slug:slug>/allow", allowlist_views.allow_host, name="settings-allow"),
    path(
        "settings/allowlist/<slug:slug>/remove",
        allowlist_views.remove_host,
        name="settings-disallow",
    ),
    path(
        "settings/allowlist/<slug:slug>/look-up",
        allowlist_views.look_up_host,
        name="settings-look-up",
    ),
]
