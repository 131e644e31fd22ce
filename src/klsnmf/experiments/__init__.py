"""The experiments of the paper: a protocol as data, a runner, tables and figures."""
