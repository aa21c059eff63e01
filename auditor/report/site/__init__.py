"""The published site: every audit of a reports tree as static pages, feeds, badges and cards."""
