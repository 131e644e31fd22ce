"""A uniform sample of a stream, sample by sample."""

import numpy as np


def smallest_keys(stream, size, seed):
    """The samples with the smallest of random numbers that are drawn one after the other."""
    generator = np.random.Generator(np.random.PCG64(seed))
    keyed = [(generator.random(), place) for place in range(len(stream))]
    places = sorted(place for _, place in sorted(keyed)[:size])
    return places, [stream[place] for place in places]
