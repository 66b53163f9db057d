"""Routes the pages about one delivery."""

from django.urls import path

from inbox.delivery import answer_views, discussion_views, file_views, signing_views
from inbox.delivery import views as delivery_views

urlpatterns = [
    path("deliveries/<uuid:pk>/", delivery_views.delivery_detail, name="delivery"),
    path("deliveries/<uuid:pk>/pulse", delivery_views.delivery_updates, name="delivery-updates"),
    path("deliveries/<uuid:pk>/raw", delivery_views.raw_details, name="raw-details"),
    path("deliveries/<uuid:pk>/images/<slug:digest>", file_views.picture, name="picture"),
    path("deliveries/<uuid:pk>/files/<uuid:blob>", file_views.download_file, name="file"),
    path("deliveries/<uuid:pk>/receipt", file_views.download_receipt, name="receipt"),
    path("deliveries/<uuid:pk>/response", answer_views.answer_delivery, name="response"),
    path(
        "deliveries/<uuid:pk>/response/options",
        signing_views.offer_signature,
        name="response-options",
    ),
    path("deliveries/<uuid:pk>/continue", answer_views.continue_answer, name="continue-answer"),
    path("deliveries/<uuid:pk>/undo", answer_views.undo_answer, name="undo"),
    path(
        "deliveries/<uuid:pk>/saved-replies",
        answer_views.insert_saved_reply,
        name="insert-saved-reply",
    ),
    path("deliveries/<uuid:pk>/reading", delivery_views.mark_unread, name="mark-unread"),
    path("deliveries/<uuid:pk>/comments", discussion_views.write_comment, name="comment"),
    path(
        "deliveries/<uuid:pk>/comments/<uuid:comment>/remove",
        discussion_views.remove_comment,
        name="comment-remove",
    ),
    path("mentions/", discussion_views.mention_list, name="mentions"),
]
