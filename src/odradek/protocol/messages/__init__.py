"""One module per message, made by tools/make_messages.py; import the one that is needed."""
