"""The mathematics, a file a method: what is minimised and one step towards it."""
