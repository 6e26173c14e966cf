"""Celery: messages handed to its workers, and a consumer inside one of its tasks."""
