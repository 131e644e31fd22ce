"""From samples to similarities: kernels, neighbours, and the matrix that comes of them."""
