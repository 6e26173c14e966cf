"""The replicas of this broker: leaders that append and count who has followed, followers that fetch."""
