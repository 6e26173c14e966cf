"""Roles of a replica as candidate, leader, follower and observer: requests, responses and periodic work."""
