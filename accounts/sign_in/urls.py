"""Routes the pages for signing in and for the security of an account."""

from django.urls import include, path

from accounts.sign_in import reauthentication
from accounts.sign_in.pages import address_views as address_views
from accounts.sign_in.pages import password_reset_views as reset_views
from accounts.sign_in.pages import provider_views as provider_views
from accounts.sign_in.pages import security_views, views

urlpatterns = [
    path("login/", views.SignInView.as_view(), name="login"),
    path("login/code/", views.sign_in_code, name="sign-in-code"),
    path("login/reset/", reset_views.request_reset, name="reset"),
    path("login/reset/asked/", reset_views.reset_requested, name="reset-requested"),
    path(
        "login/reset/<str:uidb64>/<str:token>/",
        reset_views.NewPassword.as_view(),
        name="reset-password",
    ),
    path("login/provider/", provider_views.begin_sign_in, name="provider"),
    path("login/provider/back/", provider_views.come_back, name="provider-back"),
    path("login/address/<str:token>/", address_views.restore_address, name="restore-address"),
    path("logout/", views.SignOut.as_view(), name="logout"),
    path("sudo/", reauthentication.confirm_password, name="confirm-password"),
    path("sudo/provider", provider_views.ask_again, name="confirm-with-provider"),
    path("settings/address/", address_views.change_address, name="settings-address"),
    path("settings/address/<str:token>/", address_views.confirm_address, name="confirm-address"),
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
    path("", include("accounts.sign_in.passkeys.urls")),
]
