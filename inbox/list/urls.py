"""Routes the inbox, its updates, and the lists of snoozed deliveries and of close deadlines."""

from django.urls import path

from inbox.list import acknowledgement_views, snooze_views
from inbox.list import views as list_views
from inbox.list.deadlines import views as deadline_views
from inbox.list.live import views as live_views

urlpatterns = [
    path("", list_views.inbox_list, name="inbox"),
    path("pulse", list_views.inbox_updates, name="inbox-updates"),
    path("live", live_views.live, name="live"),
    path("acknowledgements", acknowledgement_views.acknowledge_selected, name="acknowledge"),
    path(
        "acknowledgements/undo", acknowledgement_views.undo_acknowledgement, name="acknowledge-undo"
    ),
    path("selection", list_views.act_on_selection, name="selection"),
    path("deliveries/<uuid:pk>/snooze", snooze_views.snooze_delivery, name="snooze"),
    path("deliveries/<uuid:pk>/snooze/undo", snooze_views.unsnooze_delivery, name="unsnooze"),
    path("snoozed/", snooze_views.snoozed_list, name="snoozed"),
    path("snoozed/choices", snooze_views.choose_snooze, name="snooze-choices"),
    path("snoozed/add", snooze_views.snooze_selected, name="snooze-selected"),
    path("closing-soon/", deadline_views.closing_soon_list, name="closing-soon"),
    path("missed-deadlines/", deadline_views.missed_deadline_list, name="missed-deadlines"),
]
