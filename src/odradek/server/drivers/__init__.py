"""Cores on the event loop: the tasks and timers that run the quorum, the controller, replicas and coordinators."""
