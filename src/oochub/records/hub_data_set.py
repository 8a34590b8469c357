"""Which data set of the Hub, at which commit, rows were loaded from."""

import re
from dataclasses import dataclass
from typing import Any

_ADDRESS = re.compile(r"hf://datasets/([^/@]+/[^/@]+)@([0-9a-f]{40})")


@dataclass(frozen=True, kw_only=True)
class HubDataSet:
    """A data set on the Hub at one commit; it travels among the addresses of a `DatasetInfo`.

    Attributes:
        id: user/name.
        revision: The commit, 40 hex digits.

    >>> import datasets
    >>> info = datasets.DatasetInfo()
    >>> HubDataSet(id="user/nooch", revision="a" * 40).note(info)
    >>> HubDataSet.of(info).id, HubDataSet.of(datasets.DatasetInfo())
    ('user/nooch', None)
    """

    id: str
    revision: str

    @classmethod
    def of(cls, info: Any) -> "HubDataSet | None":
        """The one that rows with this `DatasetInfo` were loaded from; None where it names none, or several."""
        addresses = (_ADDRESS.match(str(address)) for address in info.download_checksums or ())
        found = {address.groups() for address in addresses if address}
        return cls(**dict(zip(("id", "revision"), found.pop(), strict=True))) if len(found) == 1 else None

    def note(self, info: Any) -> None:
        """Says in a `DatasetInfo` that its rows were loaded from here: `datasets` has a field for it, and no value."""
        info.download_checksums = {f"hf://datasets/{self.id}@{self.revision}": {}}
