"""`python -m bobcat`: the same as the `bobcat` command."""

from bobcat.cli.main import main

if __name__ == "__main__":
    main()
