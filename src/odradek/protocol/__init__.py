"""Kafka's messages on the wire: field types, schemas, codecs, framing, API keys and error codes."""
