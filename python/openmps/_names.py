"""The attributes of ``torch._C`` that torch's own Python calls and that a Linux wheel lacks.

The wheel looks them up when it calls them, so setting them late is enough. Most of the ``_mps_*`` family is in every wheel
and reaches this package through the registered hooks; those are left alone.
"""

from functools import partial

from openmps import _openmps, _storage, _streams


def install(torch, stream_base: type) -> None:
    """Sets every missing name but ``_has_mps``, which the rest of torch asks first and which therefore comes last of all."""
    names = {
        "_MPSStreamBase": stream_base,
        "_mps_getCurrentStream": partial(_streams.get_current, stream_base),
        "_mps_setStream": partial(_streams.set_current, torch),
        "_mps_compileShader": _openmps.compile_shader,
        "_mps_loadMetalllib": _openmps.load_metallib,
        "_mps_loadMetallibFromPath": _openmps.load_metallib_from_path,
        "_mps_ShaderLibrary": _openmps._mps_ShaderLibrary,
        "_mps_PrecompiledShaderLibrary": _openmps._mps_PrecompiledShaderLibrary,
        "_mps_MetalKernel": _openmps._mps_MetalKernel,
        "_mps_isCaptureEnabled": _openmps.is_capture_enabled,
        "_mps_isCapturing": _openmps.is_capturing,
        "_mps_startCapture": _openmps.start_capture,
        "_mps_stopCapture": _openmps.stop_capture,
        "_mps_get_name": _openmps.device_name,
        "_mps_get_core_count": _openmps.device_core_count,
        "_mps_host_alias_storage": partial(_storage.host_alias, torch),
        "_mps_allocator_waitForEvents": _openmps.wait_for_events,
    }
    for name, value in names.items():
        setattr(torch._C, name, value)
