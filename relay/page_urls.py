"""The pages of the relay that people use, beside those of the inbox."""

from django.urls import path

from relay import caller_pages, card_pages, pages

urlpatterns = [
    path("tasks/<uuid:pk>/", pages.show, name="task"),
    path("tasks/<uuid:pk>/files/<slug:kind>/<int:row>/<int:number>", pages.file, name="task-file"),
    path("contexts/<uuid:pk>/", pages.show_context, name="context"),
    path("agents/<uuid:pk>/card/", card_pages.show, name="agent-card"),
    path("agents/<uuid:pk>/card/unpublish", card_pages.unpublish, name="unpublish-agent"),
    path("agents/<uuid:pk>/callers/", caller_pages.show, name="caller-keys"),
    path("agents/<uuid:pk>/callers/new/", caller_pages.new, name="caller-key-new"),
    path(
        "agents/<uuid:pk>/callers/<uuid:key>/revoke",
        caller_pages.revoke,
        name="caller-key-revoke",
    ),
]
