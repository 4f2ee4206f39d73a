"""The records of a store that cannot be read in full, arrays included."""

from __future__ import annotations

from votewise import InputError
from votewise.records import Fault, RecordStore


def unreadable(store: RecordStore) -> list[Fault]:
    found = []
    for name in store.ids():
        try:
            store.read(name)
        except InputError as error:
            found.append(Fault(name, str(error)))
    return found
