"""How a number gets its 95% interval, one file per method; `estimation` chooses among them.

The parts of scipy are written out, such as `scipy.special.ndtr`: scipy imports each when it is first used. What
scipy.special has is not taken of scipy.stats, which takes half a second to import.
"""

RESAMPLES = 1000
"""Bootstrap replicates of an interval, where nothing else is asked for."""
