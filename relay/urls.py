"""Routes the requests of programs to the relay: for the card of the server, the large files of
tasks, and the runs of connectors. relay/agent_urls.py routes the requests to agents."""

from django.urls import path, re_path

from relay.agent_urls import CARDS
from relay.api import files
from relay.cards import views as card_views
from relay.connector.polling import AgentView, PollView
from relay.connector.websocket import ConnectConsumer, NothingHere

urlpatterns = [
    *[path(card, card_views.of_root) for card in CARDS],
    path("artifacts/<str:token>", files.linked_file, name="blob"),
    path("connect/v1/agent", AgentView.as_view()),
    path("connect/v1/poll", PollView.as_view()),
    path("connect/v1/poll/", PollView.as_view()),
]

sockets = [
    re_path(r"^connect/v1/?$", ConnectConsumer.as_asgi()),
    re_path(r"", NothingHere.as_asgi()),
]
