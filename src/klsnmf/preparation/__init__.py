"""What is done to a table before it is clustered, and again to new samples.

A ``Preparation`` is a list of steps (``steps.py``, ``columns.py``). Each is a record: fitted to a
table, applied to any other, and checked when it comes from a model file.
"""
