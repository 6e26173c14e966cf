"""The odradek command: subcommands by noun and verb, each imported only when it is called."""
