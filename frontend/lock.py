"""The lock under which programs are made."""

import threading

lowering_lock = threading.RLock()
"""
Held while a function is traced, lowered or compiled. One for the process: xDSL keeps resources in one
table, LLVM is called under one lock, so that two at once would not be quicker, and a function may call
another while it is traced, for which locks of their own could be taken in opposite orders.
"""
