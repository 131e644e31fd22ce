"""From a problem to solutions: starts, the loop, phases, and fits that go on later."""
