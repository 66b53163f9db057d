"""What machines ask the relay for: cards, which anybody may read, and the agents themselves."""

from django.urls import path

from relay import card_views, views

CARDS = [".well-known/agent-card.json", ".well-known/agent.json"]  # the latter until A2A 0.3

urlpatterns = [
    *[path(card, card_views.of_root) for card in CARDS],
    *[path(f"@<str:handle>/{card}", card_views.of_handle) for card in CARDS],
    *[path(f"@<str:handle>/<str:name>/{card}", card_views.of_agent) for card in CARDS],
    # With and without a slash: whoever follows a redirect sends a GET.
    path("@<str:handle>/<str:name>", views.agent, name="a2a"),
    path("@<str:handle>/<str:name>/", views.agent),
]
