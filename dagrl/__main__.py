"""`python -m dagrl`: the same as `dagrl`."""

from dagrl.cli import main

main()
