"""Routes the pages on which deliveries are taken and rules are changed."""

from django.urls import path

from inbox.assignment import (
    answering_rule_views,
    rule_form_views,
    rule_views,
    take_views,
    try_views,
)
from inbox.assignment.rule_kinds import ANSWERING, ASSIGNING

urlpatterns = [
    path("deliveries/<uuid:pk>/assignment", take_views.take_delivery, name="take"),
    path("settings/rules/", rule_views.rule_settings, name="settings-rules"),
    path("settings/rules/<slug:slug>/", rule_views.team_rules, name="settings-team-rules"),
    path(
        "settings/rules/<slug:slug>/new/",
        rule_form_views.add_rule,
        {"kind": ASSIGNING},
        name="settings-rule-new",
    ),
    path(
        "settings/rules/<slug:slug>/answering/new/",
        rule_form_views.add_rule,
        {"kind": ANSWERING},
        name="settings-answering-rule-new",
    ),
    path(
        "settings/rules/<slug:slug>/answering/<uuid:pk>/",
        answering_rule_views.answering_rule,
        name="settings-answering-rule",
    ),
    path(
        "settings/rules/<slug:slug>/answering/<uuid:pk>/change/",
        rule_form_views.change_rule,
        {"kind": ANSWERING},
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
        rule_form_views.remove_rule,
        {"kind": ANSWERING},
        name="settings-answering-rule-remove",
    ),
    path("settings/rules/<slug:slug>/try/", try_views.try_rules, name="settings-rules-try"),
    path(
        "settings/rules/<slug:slug>/<uuid:pk>/",
        rule_form_views.change_rule,
        {"kind": ASSIGNING},
        name="settings-rule",
    ),
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
        rule_form_views.remove_rule,
        {"kind": ASSIGNING},
        name="settings-rule-remove",
    ),
]
