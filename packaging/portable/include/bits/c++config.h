// This machine's C++ library, without the calls of later C libraries in its headers.
#pragma once
#include_next <bits/c++config.h>
#undef _GLIBCXX_USE_PTHREAD_COND_CLOCKWAIT    // 2.30
#undef _GLIBCXX_USE_PTHREAD_MUTEX_CLOCKLOCK   // 2.30
#undef _GLIBCXX_USE_PTHREAD_RWLOCK_CLOCKLOCK  // 2.30
