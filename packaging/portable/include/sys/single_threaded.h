// The C++ library's headers include this one where they find it. Zig's refuses for a C library without it (before 2.32).
#pragma once
extern "C" char __libc_single_threaded;
