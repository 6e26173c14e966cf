"""What a replica does as candidate, leader, follower and observer: requests, responses and periodic work."""
