"""Helpers of several handlers: authorization, lists of topics, configuration entries, the mapping of Fetch."""
