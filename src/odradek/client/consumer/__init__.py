"""The consumer: what is subscribed, where it stands, what was fetched, and how records are handed out."""
