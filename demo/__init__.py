"""`make demo`: a shop's events through three Odradek nodes and a pipeline on Spark, under faults, accounted for.

`run` is the entry. The pipeline itself is the project in `pipeline/`; nothing else here takes part in it: the generator
keeps its own book, and `accounting` compares that with what is in the tables and topics at the end.
"""
