"""What is done to a table before it is clustered, and again to new samples.

A ``Preparation`` is a list of steps (``numbers.py``, ``gaps.py``, ``categories.py``, ``texts.py``).
A step is a record. It is fitted to one table, can be applied to any other, and is checked when it
comes from a model file.
"""
