"""Routes what programs ask of agents and handles: cards and calls. Their paths begin with an @."""

from django.urls import path, register_converter
from django.urls.converters import StringConverter

from relay.api import views as api_views
from relay.cards import views as card_views

CARDS = [".well-known/agent-card.json", ".well-known/agent.json"]  # the latter until A2A 0.3


class NameConverter(StringConverter):
    """Matches a handle or an agent id. PostgreSQL refuses U+0000 in a query, so it is not found."""

    regex = r"[^/\x00]+"


register_converter(NameConverter, "name")

urlpatterns = [
    # With and without a slash: a client that follows a redirect sends a GET.
    path("<name:handle>/<name:name>", api_views.agent, name="a2a"),
    path("<name:handle>/<name:name>/", api_views.agent),
    *[path(f"<name:handle>/{card}", card_views.of_handle) for card in CARDS],
    *[path(f"<name:handle>/<name:name>/{card}", card_views.of_agent) for card in CARDS],
]
