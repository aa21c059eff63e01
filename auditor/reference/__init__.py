"""What is known of hardware, models and number formats from public material: data with its sources, and its readers.

Nothing is computed here and no conflict is resolved: a cell keeps every value that a source gives, with the source,
and says whether it was confirmed.
"""
