"""The HTML report of a run: one file with its charts in it, that needs nothing else.

`runs` finds the runs in the history, `gaps` what interrupted them, `measures` the numbers and lines; `document` puts
them into words, `page` is the HTML around them and `charts` draws. The demo's report uses the last two as well.
"""
