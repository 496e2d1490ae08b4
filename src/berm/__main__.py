"""`python -m berm` is the command `berm`."""

from berm.apps.cli import main

if __name__ == "__main__":
    main()
