"""The admin client and its operations, by what they are about."""
