"""Routes the requests of programs to the addresses of agents and teams: cards and calls. These
paths begin with an @."""

from django.urls import path

from relay.api import views as api_views
from relay.cards import views as card_views

CARDS = [".well-known/agent-card.json", ".well-known/agent.json"]  # the second path is for A2A 0.3

urlpatterns = [
    # Each path is routed both with and without a slash, because a client that follows a redirect
    # sends a GET.
    path("<str:handle>/<str:name>", api_views.agent, name="a2a"),
    path("<str:handle>/<str:name>/", api_views.agent),
    *[path(f"<str:handle>/{card}", card_views.of_handle) for card in CARDS],
    *[path(f"<str:handle>/<str:name>/{card}", card_views.of_agent) for card in CARDS],
]
