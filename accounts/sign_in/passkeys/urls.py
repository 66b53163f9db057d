"""Routes the pages and requests for passkeys."""

from django.urls import path

from accounts.sign_in.passkeys import settings_views, sign_in_views

urlpatterns = [
    path("login/passkey", sign_in_views.sign_in_with_passkey, name="passkey"),
    path("login/passkey/options", sign_in_views.offer_sign_in, name="passkey-options"),
    path("login/code/passkey", sign_in_views.take_second_step, name="passkey-second-step"),
    path(
        "login/code/passkey/options",
        sign_in_views.offer_second_step,
        name="passkey-second-step-options",
    ),
    path("sudo/passkey", sign_in_views.confirm_with_passkey, name="confirm-with-passkey"),
    path(
        "sudo/passkey/options",
        sign_in_views.offer_confirmation,
        name="confirm-with-passkey-options",
    ),
    path(
        "settings/security/passkeys/new/",
        settings_views.add_passkey,
        name="settings-passkey-new",
    ),
    path(
        "settings/security/passkeys/new/options",
        settings_views.offer_new_passkey,
        name="settings-passkey-new-options",
    ),
    path(
        "settings/security/passkeys/<uuid:pk>/",
        settings_views.passkey_detail,
        name="settings-passkey",
    ),
    path(
        "settings/security/passkeys/<uuid:pk>/remove",
        settings_views.remove_passkey,
        name="settings-passkey-remove",
    ),
]
