"""Runs a command to which the kernel refuses some system calls, as seccomp filters of containers do.

    deny.py NAME[=ERRNO] ... -- COMMAND [ARGUMENT ...]

NAME is one of NUMBERS; without an errno it is EPERM. Exits 77, with the reason, where that cannot be done.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

NUMBERS = {"io_uring_setup": (425, 425), "cachestat": (451, 451), "mincore": (27, 232), "fallocate": (285, 47)}
AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06  # BPF: load a word, jump if equal, return
ALLOW, ERRNO = 0x7FFF0000, 0x00050000


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def instruction(code, k, if_true=0, if_false=0):
    return struct.pack("HBBI", code, if_true, if_false, k)


def deny(refused):
    machine = platform.machine()
    if machine not in AUDIT:
        skip(f"no system call numbers for {machine}")
    program = instruction(LOAD, 4) + instruction(EQUAL, AUDIT[machine], 1, 0) + instruction(RETURN, ALLOW)
    program += instruction(LOAD, 0)
    for name, code in refused:
        number = NUMBERS[name][machine == "aarch64"]
        program += instruction(EQUAL, number, 0, 1) + instruction(RETURN, ERRNO | code)
    program += instruction(RETURN, ALLOW)
    text = ctypes.create_string_buffer(program)
    filter_ = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(text)))
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, filter_) != 0:
        skip(f"no seccomp filter: {os.strerror(ctypes.get_errno())}")


split = sys.argv.index("--")
deny([(word.split("=")[0], getattr(errno, word.split("=")[1]) if "=" in word else errno.EPERM)
      for word in sys.argv[1:split]])
os.execvp(sys.argv[split + 1], sys.argv[split + 1:])
