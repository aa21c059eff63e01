"""Result files that others publish: recognised by their content, graded by what they can prove, and checked by what
their own tool is known to count wrong.

Pure: bytes in, frozen records out. The file door is `auditor.review.imports`.
"""
