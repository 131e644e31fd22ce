"""Reading what people have: tables, arrays, sparse matrices, folders of images.

Every file may come from a stranger. Its size is checked before memory is allocated, nothing is
unpickled, and every fault raises an ``InputError`` with the name of the file and a remedy.
"""
