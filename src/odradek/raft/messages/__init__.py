"""Requests and responses of the quorum: how they are built, and the checks that all of them share."""
