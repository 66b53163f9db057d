"""Routes the pages on which people answer several deliveries, edit one, and manage saved
replies."""

from django.urls import path

from inbox.answering import editor_views, saved_reply_views
from inbox.answering.batches import views as batch_views

urlpatterns = [
    path("batch/", batch_views.batch_review_page, name="batch"),
    path("batch/answer", batch_views.send_batch, name="batch-answer"),
    path("batch/<uuid:pk>/", batch_views.batch_result, name="batch-result"),
    path("batch/<uuid:pk>/undo", batch_views.undo_batch, name="batch-undo"),
    path("deliveries/<uuid:pk>/edit", editor_views.delivery_editor, name="editor"),
    path(
        "settings/saved-replies/", saved_reply_views.saved_reply_list, name="settings-saved-replies"
    ),
    path(
        "settings/saved-replies/<uuid:pk>/",
        saved_reply_views.saved_reply_detail,
        name="settings-saved-reply",
    ),
    path(
        "settings/saved-replies/<uuid:pk>/remove",
        saved_reply_views.remove_saved_reply,
        name="settings-saved-reply-remove",
    ),
]
