"""Names the browser test that shows each promise of the inbox's design (39 rows)."""

PROMISES = {
    # The tests in these rows look at what the screens do.
    "first screen: three rows, or nine": "first_screen::the_first_screen_shows_enough",
    "search, filters and menu open on demand": "first_screen::search_and_menu_open_on_demand",
    "the confirmation and Undo stay in sight": (
        "first_screen::undo_is_in_sight_and_no_other_button_is_under_the_pointer"
    ),
    "the notice follows the hold": "first_screen::the_notice_says_when_the_answer_is_sent",
    "the way back leads to the row": "first_screen::the_way_back_from_a_delivery_leads_to_its_row",
    "the main answer is on the screen": (
        "answer_bar::the_main_answer_is_on_the_screen_of_every_delivery"
    ),
    "an answer in words is never a rejection": (
        "answer_bar::on_a_question_r_leads_to_the_text_and_the_text_is_sent"
    ),
    "no single key sends an unchosen option": (
        "answer_bar::no_single_key_sends_an_option_that_was_not_chosen"
    ),
    "the notice names the option": (
        "answer_bar::a_chosen_option_is_sent_with_its_message_and_named"
    ),
    "after an answer the next row has the focus": (
        "answer_bar::after_an_answer_the_next_row_has_the_focus"
    ),
    "the time that is left stays true": "answer_bar::the_time_that_is_left_stays_true",
    "the editor shows changes as they are typed": "editor::changes_appear_as_they_are_typed",
    "a proposed value changes without the editor": (
        "states::a_proposed_value_is_changed_without_the_editor"
    ),
    "selected rows are reviewed together": (
        "triage::selected_rows_are_answered_together_and_undone"
    ),
    "ten deliveries take 25 keys": "triage::ten_deliveries_take_at_most_25_keys",
    "ten deliveries take 14 taps": "triage::ten_deliveries_take_at_most_14_taps",
    "new deliveries move no row": "updates::new_deliveries_are_announced_and_shown_on_request",
    "open pages say at once what colleagues do": (
        "live::two_people_see_at_once_what_the_other_does"
    ),
    "the palette goes anywhere": "palette::it_goes_to_a_page_by_a_few_letters",
    "an agent's health leads to its section": ("agents::what_needs_attention_leads_to_its_section"),
    "charts have a name and a table": "agents::the_charts_have_a_name_and_are_accessible",
    "the first delivery ends the wait": (
        "connect::requests_and_the_first_delivery_replace_the_waiting_line"
    ),
    "signing in takes the browser's time zone": (
        "agents::signing_in_takes_the_time_zone_of_the_browser"
    ),
    # The tests in these rows look at states.
    "empty: the inbox and its searches": "accessibility::an_empty_inbox_is_accessible",
    "loading: a form is sent once and says so": (
        "drafts::a_form_that_is_being_sent_says_so_and_is_sent_once"
    ),
    "validation: the error stands beside its field": (
        "editor::an_error_appears_beside_its_field_and_leaves_when_it_is_corrected"
    ),
    "offline: the words stay, and a retry works": (
        "drafts::without_a_connection_the_text_stays_and_can_be_sent_again"
    ),
    "offline: a page of ours is shown": "offline::a_page_of_ours_is_shown_without_a_connection",
    "signed out meanwhile: the draft stays": "drafts::after_a_new_sign_in_the_text_is_restored",
    "conflict: the second person keeps their text": (
        "story::the_second_person_to_answer_keeps_their_text"
    ),
    "held by another: no buttons": "states::what_a_colleague_answers_now_has_no_buttons",
    "expired: a late answer is allowed and labelled": (
        "states::a_late_answer_is_allowed_and_labelled"
    ),
    "key revoked: the delivery says so": "states::a_key_that_was_revoked_is_named",
    "hostile content is inert": "hostile::hostile_content_is_inert_everywhere",
    "right to left": "accessibility::read_from_right_to_left_nothing_leaves_its_window",
    "WCAG 2.2 AA and 320 px, on every page": (
        "accessibility::every_page_is_accessible_and_inside_its_window"
    ),
    "forced colours and paper": "accessibility::with_forced_colours_every_control_has_an_edge",
    "without JavaScript": "first_screen::without_scripts_search_menu_and_undo_work",
    "budgets of bytes and requests": "budgets::the_inbox_is_light",
}
