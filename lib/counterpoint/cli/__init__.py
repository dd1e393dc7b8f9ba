"""The `counterpoint` command."""

from counterpoint.cli.commands import main

__all__ = ["main"]
