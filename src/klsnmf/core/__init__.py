"""What everything stands on: arrays of any library, threads, memory, progress, files."""
