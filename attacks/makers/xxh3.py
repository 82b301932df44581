"""XXH3-64 with seed 0 for the two lengths that stores need: 8 bytes, and more than 240.

Written from the published description of the algorithm; the honest store in the corpus shows
that it agrees with the library that reads it.
"""

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8a8"
    "fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364ea"
    "c5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e2b"
    "16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)
P32 = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
P64 = (0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9, 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5)
MASK = (1 << 64) - 1


def word(data: bytes, at: int, size: int = 8) -> int:
    return int.from_bytes(data[at : at + size], "little")


def xxh3(data: bytes) -> int:
    if len(data) == 8:
        return eight(data)
    assert len(data) > 240, "only these two lengths are written here"
    return long(data)


def eight(data: bytes) -> int:
    def rotated(value, by):
        return (value << by | value >> (64 - by)) & MASK

    keyed = word(data, 4, 4) + (word(data, 0, 4) << 32) ^ word(SECRET, 8) ^ word(SECRET, 16)
    keyed ^= rotated(keyed, 49) ^ rotated(keyed, 24)
    keyed = keyed * 0x9FB21C651E98DF25 & MASK
    keyed ^= (keyed >> 35) + 8
    keyed = keyed * 0x9FB21C651E98DF25 & MASK
    return keyed ^ keyed >> 28


def long(data: bytes) -> int:
    lanes = [P32[2], P64[0], P64[1], P64[2], P64[3], P32[1], P64[4], P32[0]]
    secret_end = len(SECRET) - 64
    stripes, in_block = (len(data) - 1) // 64, secret_end // 8
    for stripe in range(stripes):
        accumulate(lanes, data, stripe * 64, stripe % in_block * 8)
        if stripe % in_block == in_block - 1:
            for lane in range(8):
                value = lanes[lane] ^ lanes[lane] >> 47 ^ word(SECRET, secret_end + 8 * lane)
                lanes[lane] = value * P32[0] & MASK
    accumulate(lanes, data, len(data) - 64, secret_end - 7)
    total = len(data) * P64[0]
    for pair in range(4):
        left = lanes[2 * pair] ^ word(SECRET, 11 + 16 * pair)
        right = lanes[2 * pair + 1] ^ word(SECRET, 19 + 16 * pair)
        product = left * right
        total += product & MASK ^ product >> 64
    total &= MASK
    total ^= total >> 37
    total = total * 0x165667919E3779F9 & MASK
    return total ^ total >> 32


def accumulate(lanes, data: bytes, at: int, secret_at: int) -> None:
    for lane in range(8):
        value = word(data, at + 8 * lane)
        key = value ^ word(SECRET, secret_at + 8 * lane)
        lanes[lane ^ 1] = lanes[lane ^ 1] + value & MASK
        lanes[lane] = lanes[lane] + (key & 0xFFFFFFFF) * (key >> 32) & MASK
