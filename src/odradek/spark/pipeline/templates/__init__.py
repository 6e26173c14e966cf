"""The projects that `odradek pipeline init` writes, one module for each template.

A template is text. Each one runs as it stands: its topics are created by the commands that `init` prints, and the
sample events that come with it lead to a result that can be checked.
"""
