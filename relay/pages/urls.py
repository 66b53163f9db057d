"""Routes the relay's pages for people, beside those of the inbox."""

from django.urls import path

from relay.pages import callers as caller_pages
from relay.pages import cards as card_pages
from relay.pages import tasks as task_pages

urlpatterns = [
    path("tasks/<uuid:pk>/", task_pages.task_detail, name="task"),
    path(
        "tasks/<uuid:pk>/files/<slug:kind>/<int:row>/<int:number>",
        task_pages.file,
        name="task-file",
    ),
    path(
        "tasks/<uuid:pk>/pictures/<slug:kind>/<int:row>/<int:number>",
        task_pages.picture,
        name="task-picture",
    ),
    path("agents/<uuid:pk>/tasks/", task_pages.task_list, name="agent-tasks"),
    path("contexts/<uuid:pk>/", task_pages.context_detail, name="context"),
    path("agents/<uuid:pk>/card/", card_pages.agent_card, name="agent-card"),
    path("agents/<uuid:pk>/card/unpublish", card_pages.unpublish, name="unpublish-agent"),
    path("agents/<uuid:pk>/callers/", caller_pages.caller_keys, name="caller-keys"),
    path("agents/<uuid:pk>/callers/new/", caller_pages.new, name="caller-key-new"),
    path(
        "agents/<uuid:pk>/callers/<uuid:key>/revoke",
        caller_pages.revoke,
        name="caller-key-revoke",
    ),
]
