"""Routes MCP, with and without a trailing slash."""

from django.urls import path

from wake.mcp.people import PeoplesMcpView
from wake.mcp.views import McpView

urlpatterns = [
    path("mcp", McpView.as_view()),
    path("mcp/", McpView.as_view()),
    path("mcp/people", PeoplesMcpView.as_view()),
    path("mcp/people/", PeoplesMcpView.as_view()),
]
