"""Routes the pages about agents."""

from django.urls import path

from inbox.agents import alias_views, archive_views, limit_views, pause_views, registration_views
from inbox.agents import views as agent_views
from inbox.agents.connect import views as connect_views
from inbox.agents.credentials import client_views, key_views, secret_views
from inbox.agents.gates import views as gate_views

urlpatterns = [
    path("welcome/", connect_views.welcome_page, name="welcome"),
    path("agents/", agent_views.agent_list, name="agents"),
    path("agents/new/", registration_views.register_agent, name="agent-new"),
    path("agents/<uuid:pk>/", agent_views.agent_detail, name="agent"),
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
    path(
        "agents/<uuid:pk>/clients/<uuid:client>/end/",
        client_views.end_client,
        name="agent-client-end",
    ),
    path("agents/<uuid:pk>/secret/", secret_views.rotate_secret, name="agent-secret"),
    path("agents/<uuid:pk>/secret/switch", secret_views.switch_secret, name="agent-secret-switch"),
    path("agents/<uuid:pk>/aliases/", alias_views.agent_aliases, name="agent-aliases"),
    path(
        "agents/<uuid:pk>/aliases/<int:alias>/remove",
        alias_views.remove_alias,
        name="agent-alias-remove",
    ),
    path("settings/gates/", gate_views.gate_settings, name="settings-gates"),
    path("settings/gates/<slug:slug>/new/", gate_views.issue_gate, name="settings-gate-new"),
    path(
        "settings/gates/<slug:slug>/<uuid:pk>/revoke",
        gate_views.revoke_gate,
        name="settings-gate-revoke",
    ),
]
