"""
# Sorting

Cards that are [put in order by hand](insertion.py), and [how many steps](steps.py) that takes.
"""
