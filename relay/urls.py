"""What machines ask the relay for: cards, which anybody may read, the agents themselves, the large
files of their tasks, and what an agent's own machine is to run."""

from django.urls import path, re_path

from relay import blobs, card_views, views
from relay.connect_views import PollView
from relay.consumers import ConnectConsumer, NothingHere

CARDS = [".well-known/agent-card.json", ".well-known/agent.json"]  # the latter until A2A 0.3

urlpatterns = [
    *[path(card, card_views.of_root) for card in CARDS],
    *[path(f"@<str:handle>/{card}", card_views.of_handle) for card in CARDS],
    *[path(f"@<str:handle>/<str:name>/{card}", card_views.of_agent) for card in CARDS],
    # With and without a slash: whoever follows a redirect sends a GET.
    path("@<str:handle>/<str:name>", views.agent, name="a2a"),
    path("@<str:handle>/<str:name>/", views.agent),
    path("artifacts/<str:token>", blobs.show, name="blob"),
    path("connect/v1/poll", PollView.as_view()),
    path("connect/v1/poll/", PollView.as_view()),
]

sockets = [
    re_path(r"^connect/v1/?$", ConnectConsumer.as_asgi()),
    re_path(r"", NothingHere.as_asgi()),
]
