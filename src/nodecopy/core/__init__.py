"""What everything else is built on: errors, random streams, saving, settings, files."""
