"""Routes the pages about teams, their members and invitations."""

from django.urls import path

from accounts.teams import invitation_views, member_views, views

urlpatterns = [
    path("join/<str:token>/", invitation_views.join_team, name="join"),
    path("settings/teams/", views.team_settings, name="settings-teams"),
    path("settings/teams/<slug:slug>/name", views.rename_team, name="settings-team-name"),
    path(
        "settings/teams/<slug:slug>/second-factor",
        views.require_second_factor,
        name="settings-team-second-factor",
    ),
    path(
        "settings/teams/<slug:slug>/signatures",
        views.sign_irreversible,
        name="settings-team-signatures",
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
]
