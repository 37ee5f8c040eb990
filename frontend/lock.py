"""The lock under which programs are made."""

import threading

from ..forks import Rank, held_over_forks

lowering_lock = held_over_forks(threading.RLock(), Rank.PROGRAMS)
"""
Held while a function is traced, lowered or compiled. One for the process: xDSL keeps resources in one
table, LLVM is called under one lock, so that two at once would not be quicker, and a function may call
another while it is traced, for which locks of their own could be taken in opposite orders.
"""
