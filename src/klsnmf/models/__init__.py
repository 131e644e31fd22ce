"""The mathematics, one file per method: what is minimised, and one step towards the minimum."""
