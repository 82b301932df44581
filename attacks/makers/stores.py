"""Zoetrope's own store, damaged; made from the small store in attacks/seeds/."""


def attacks():
    return []
