"""Version 11 of NCCL's net plugin interface, called from Python: for tests that treat a plugin as
no NCCL would, in processes that may be killed."""
import ctypes
import mmap
import os

HANDLE_BYTES = 128
HOST = 1
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                       ctypes.c_long]
_libc.mprotect.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]

_POINTER = ctypes.c_void_p
_LOGGER = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p, ctypes.c_int,
                           ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p, ctypes.c_int,
                           ctypes.c_void_p)
_CALLS = ("init devices getProperties listen connect accept regMr regMrDmaBuf deregMr isend irecv "
          "iflush test closeSend closeRecv closeListen getDeviceMr irecvConsumed makeVDevice "
          "finalize setNetAttr").split()
_ARGUMENTS = {
    "init": [_POINTER, ctypes.c_uint64, _POINTER, _POINTER, _POINTER],
    "listen": [_POINTER, ctypes.c_int, _POINTER, _POINTER],
    "connect": [_POINTER, ctypes.c_int, _POINTER, _POINTER, _POINTER],
    "regMr": [_POINTER, _POINTER, ctypes.c_size_t, ctypes.c_int, _POINTER],
    "isend": [_POINTER, _POINTER, ctypes.c_size_t, ctypes.c_int, _POINTER, _POINTER, _POINTER],
    "irecv": [_POINTER, ctypes.c_int] + [_POINTER] * 6,
}
_COUNTS = {"accept": 3, "deregMr": 2, "test": 3, "devices": 1, "finalize": 1, "closeSend": 1,
           "closeRecv": 1, "closeListen": 1, "getProperties": 2}


class NetError(Exception):
    def __init__(self, call, code, warning):
        super().__init__(f"{call}: ncclResult {code} ({warning})")
        self.call, self.code = call, code


class Memory:
    """Pages of their own, so that whoever touches them after bar() is found out."""

    def __init__(self, size):
        self.size = size
        self.address = _libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE,
                                  mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)

    def write(self, data):
        ctypes.memmove(self.address, data, len(data))

    def read(self, size):
        return ctypes.string_at(self.address, size)

    def bar(self):
        _libc.mprotect(self.address, self.size, 0)

    def unmap(self):
        _libc.munmap(self.address, self.size)


class Net:
    """The plugin, initialised. Calls raise NetError; "not now" is None."""

    def __init__(self, library):
        self._library = ctypes.CDLL(library, mode=os.RTLD_NOW | os.RTLD_LOCAL)
        table = (ctypes.c_void_p * (1 + len(_CALLS))).in_dll(self._library, "ncclNetPlugin_v11")
        self._calls = {}
        for name, address in zip(_CALLS, table[1:]):
            arguments = _ARGUMENTS.get(name) or [_POINTER] * _COUNTS.get(name, 0)
            if name == "getProperties":
                arguments = [ctypes.c_int, _POINTER]
            if address:
                self._calls[name] = ctypes.CFUNCTYPE(ctypes.c_int, *arguments)(address)
        self.warning = "no warning"
        self._logger = _LOGGER(self._log)
        self.context = self.init()

    def _log(self, level, _flags, _file, _line, _form, start_size, start, size, text):
        """The plugin gives all its lines as "%.*s%.*s"."""
        if level == 2:
            self.warning = (ctypes.string_at(start, start_size) +
                            ctypes.string_at(text, size)).decode(errors="replace")

    def _call(self, name, *arguments):
        result = self._calls[name](*arguments)
        if result != 0:
            raise NetError(name, result, self.warning)

    def _one(self, name, *before):
        out = ctypes.c_void_p()
        self._call(name, *before, ctypes.byref(out))
        return out.value

    def init(self):
        context = ctypes.c_void_p()
        config = ctypes.c_int(-1)
        self._call("init", ctypes.byref(context), 7, ctypes.byref(config), self._logger, None)
        return context.value

    def finalize(self, context=None):
        self._call("finalize", context or self.context)

    def devices(self):
        count = ctypes.c_int()
        self._call("devices", ctypes.byref(count))
        return count.value

    def listen(self, device=0):
        handle = ctypes.create_string_buffer(HANDLE_BYTES)
        return self._one("listen", self.context, device, handle), handle.raw

    def connect(self, handle, device=0):
        """`handle`: a ctypes buffer that is the same at every try."""
        out = ctypes.c_void_p()
        self._call("connect", self.context, device, handle, ctypes.byref(out), None)
        return out.value

    def accept(self, listener):
        out = ctypes.c_void_p()
        self._call("accept", listener, ctypes.byref(out), None)
        return out.value

    def register(self, comm, memory):
        return self._one("regMr", comm, memory.address, memory.size, HOST)

    def deregister(self, comm, known):
        self._call("deregMr", comm, known)

    def send(self, comm, memory, size, known, tag=0):
        return self._one("isend", comm, memory.address, size, tag, known, None)

    def receive(self, comm, memory, size, known, tag=0):
        data, sizes = (ctypes.c_void_p * 1)(memory.address), (ctypes.c_size_t * 1)(size)
        tags, knowns = (ctypes.c_int * 1)(tag), (ctypes.c_void_p * 1)(known)
        return self._one("irecv", comm, 1, data, sizes, tags, knowns, None)

    def test(self, request):
        """Bytes, or None."""
        done, sizes = ctypes.c_int(), (ctypes.c_int * 64)()
        self._call("test", request, ctypes.byref(done), sizes)
        return sizes[0] if done.value else None

    def close_send(self, comm):
        self._call("closeSend", comm)

    def close_receive(self, comm):
        self._call("closeRecv", comm)

    def close_listen(self, comm):
        self._call("closeListen", comm)
