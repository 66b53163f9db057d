"""Routes the pages about callbacks and the hosts that receive them."""

from django.urls import path

from inbox.callbacks import allowlist_views, test_callback_views
from inbox.callbacks import views as callback_views

urlpatterns = [
    path(
        "agents/<uuid:pk>/test-callback/",
        test_callback_views.test_callback,
        name="agent-test-callback",
    ),
    path("callbacks/", callback_views.callback_list, name="callbacks"),
    path("callbacks/<uuid:pk>/", callback_views.callback_detail, name="callback"),
    path("callbacks/<uuid:pk>/replay", callback_views.replay_callback, name="replay"),
    path(
        "callbacks/targets/<uuid:pk>/resume", callback_views.resume_target, name="resume-callbacks"
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
