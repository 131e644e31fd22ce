"""So that ``python -m klsnmf.cli`` is the command, too."""

from . import main

main()
