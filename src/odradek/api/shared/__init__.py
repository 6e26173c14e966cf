"""What several handlers share: authorization, lists of topics, configuration entries, the view of a listener."""
