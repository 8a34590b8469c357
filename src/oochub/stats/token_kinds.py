"""The kinds of tokens of source code, in the order of their numbers in Py150-wilds."""

TOKEN_KINDS = ("class", "method", "punctuation", "keyword", "builtin", "literal", "other_identifier")
"""A kind's number is its place here; of a token that nobody asks for it is below 0."""
