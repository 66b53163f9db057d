"""Approves deliveries by rules, after a trial that compares each rule with people's answers."""
