"""``python -m klsnmf`` is the command ``klsnmf``."""

from .cli import main

main()
