"""The name of a page of the site: plain letters, and never that of another page."""

import hashlib
import re

_LONGEST = 80


def page_stem(*names: str) -> str:
    """What a page's file is called, without its suffix, for a board or an entry of any name.

    Args:
        names: What it is of: benchmark and config, or the folder of an entry.

    >>> page_stem("nooch", "ce_car"), page_stem("a/b", "c d"), page_stem("A")
    ('nooch-ce_car', 'a-b-c-d--6e75ffc2be80366a', 'A--559aead08264d579')
    """
    whole = "/".join(names)
    plain = "-".join(re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".") or "-" for name in names)
    is_own = plain == "-".join(names) and len(plain) <= _LONGEST and plain == plain.lower() and "--" not in plain
    if is_own and not any("-" in name for name in names[:-1]):  # "a-b", "c" is not "a", "b-c"
        return plain
    return f"{plain[:_LONGEST]}--{hashlib.sha256(whole.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
