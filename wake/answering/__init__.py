"""Approves deliveries by rules, after people have seen for a while what they would have said."""
