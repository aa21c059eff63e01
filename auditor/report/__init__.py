"""From a judged run folder to a page, a terminal text and a paragraph for a thread. Shows values, computes none."""
