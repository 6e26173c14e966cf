"""Commands, one module or package per noun; each is imported when it is called."""
