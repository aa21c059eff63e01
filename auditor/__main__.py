"""`python -m auditor` is the `audit` command."""

from auditor.cli import main

if __name__ == "__main__":
    main()
