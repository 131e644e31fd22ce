"""``python -m klsnmf.cli`` is the command ``klsnmf`` too."""

from . import main

main()
