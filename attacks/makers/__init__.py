"""The makers of the attack corpus, one module a family of formats."""
