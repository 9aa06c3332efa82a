"""``UntypedStorage`` on the device: allocation, which the Linux wheel compiles out, and the host's view of one."""


def install(torch) -> None:
    """Teaches ``torch.UntypedStorage`` to allocate on mps; all other devices take the way they took.

    ``storage.mps()``, ``torch.load(map_location="mps")`` and unpickling need it.
    """
    original_new = torch.UntypedStorage.__new__

    def new(cls, *args, device=None, **keywords):
        if device is None:
            return original_new(cls, *args, **keywords)
        if torch.device(device).type != "mps":
            return original_new(cls, *args, device=device, **keywords)
        return _allocate(torch, *args, **keywords)

    torch.UntypedStorage.__new__ = new


def _allocate(torch, size_or_bytes=0):
    """A storage of that many bytes, or one that holds those byte values."""
    if isinstance(size_or_bytes, int):
        return torch.empty(size_or_bytes, dtype=torch.uint8, device="mps").untyped_storage()
    return torch.tensor(list(size_or_bytes), dtype=torch.uint8).to("mps").untyped_storage()


def host_alias(torch, storage):
    """``torch._C._mps_host_alias_storage``: a CPU storage over the same memory, which keeps `storage` alive."""
    if not isinstance(storage, torch.UntypedStorage):
        raise TypeError(f"_mps_host_alias_storage(): expected an UntypedStorage, got {type(storage).__name__}")
    whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
    return torch.ops.openmps.host_alias(whole).untyped_storage()
