"""Routes what programs ask of the relay: public cards, calls of agents, the large files of their
tasks, and the runs of connectors."""

from django.urls import path, re_path

from relay.api import files
from relay.api import views as api_views
from relay.cards import views as card_views
from relay.connector.polling import AgentView, PollView
from relay.connector.websocket import ConnectConsumer, NothingHere

CARDS = [".well-known/agent-card.json", ".well-known/agent.json"]  # the latter until A2A 0.3

urlpatterns = [
    *[path(card, card_views.of_root) for card in CARDS],
    *[path(f"@<str:handle>/{card}", card_views.of_handle) for card in CARDS],
    *[path(f"@<str:handle>/<str:name>/{card}", card_views.of_agent) for card in CARDS],
    # With and without a slash: a client that follows a redirect sends a GET.
    path("@<str:handle>/<str:name>", api_views.agent, name="a2a"),
    path("@<str:handle>/<str:name>/", api_views.agent),
    path("artifacts/<str:token>", files.linked_file, name="blob"),
    path("connect/v1/agent", AgentView.as_view()),
    path("connect/v1/poll", PollView.as_view()),
    path("connect/v1/poll/", PollView.as_view()),
]

sockets = [
    re_path(r"^connect/v1/?$", ConnectConsumer.as_asgi()),
    re_path(r"", NothingHere.as_asgi()),
]
