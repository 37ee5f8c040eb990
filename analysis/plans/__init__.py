"""
Plans: what a schedule will do to a kernel, decided from its facts and a target before anything is changed.

Each family is a file: its plans as frozen data over named parameters, `propose`, and `cost` in seconds with its
terms. Nothing here touches IR; the steps that carry a plan out stand in `tuning/`.
"""
