"""An owner adds a rule and removes it. While the rule exists, its deliveries stand above all
others."""

from __future__ import annotations

from accounts.models import User
from tests.browser.screen import Open
from tests.fixtures.agent_client import AgentClient
from wake.models import Response


def test_a_rule_from_its_form_to_the_answer(
    open_browser: Open, caller: AgentClient, alice: User, bob: User
) -> None:
    owner, reviewer = open_browser(alice), open_browser(bob)
    caller.deliver(headline="Before any rule")

    owner.go("/settings/rules/garden/new/")
    owner.page.get_by_label("Name").fill("Refunds")
    owner.page.get_by_label("Value in the details").fill("/order/total")
    owner.page.get_by_label("Comparison").select_option("is at least")
    owner.page.get_by_label("Compared with").fill("500")
    owner.page.get_by_role("group", name="Assign to").get_by_label("bob").check()
    owner.page.get_by_label("Only they can answer").check()
    owner.press("Add")

    sentence = "All deliveries where /order/total is at least “500” go to bob."
    owner.page.get_by_text(sentence).wait_for()
    assert owner.problems() == []

    pk = caller.deliver(headline="Refund of 700", details={"order": {"total": 700}})
    caller.deliver(headline="Refund of 7", details={"order": {"total": 7}})
    reviewer.go("/")
    headlines = reviewer.page.locator(".row__headline").all_inner_texts()
    assert headlines == ["Refund of 700", "Refund of 7", "Before any rule"]
    reviewer.page.get_by_text("Yours 1", exact=True).wait_for()
    reviewer.page.get_by_text("The team's 2", exact=True).wait_for()
    assert reviewer.problems() == []

    owner.go("/settings/rules/garden/")
    owner.press("Try")
    owner.page.get_by_text("1 of 3 would have gone to bob by “Refunds”.").wait_for()
    assert owner.problems() == []

    owner.go(f"/deliveries/{pk}/")
    owner.page.get_by_text("Only they can answer.").wait_for()
    assert owner.problems() == []
    owner.press("Take it")
    owner.page.get_by_text("Assigned to alice and bob").wait_for()
    assert owner.problems() == []
    owner.press("Approve")
    owner.page.get_by_text("Approved").first.wait_for()
    assert Response.objects.get().by == alice
