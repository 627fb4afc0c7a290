// Whether a folder, and the mark in it, can still be headrace's work.
#pragma once

#include <string>

#include "harness/base/files/folder.h"

namespace headrace::files {

/// Why the content of `folder` may be another user's work: "/data/x belongs to user alice (1000)". "" = it is not. The
/// owner must be root, this process's user, the user who called sudo, or the one after root squashing. A folder of
/// another user is allowed where only root, this user and its owner can have put it there. Others may write it only
/// where its sticky bit protects its files. Members of its group may, unless it is root's. Modes count only on file
/// systems that keep them. Throws RunError.
std::string other_writer(const Folder& folder);
/// The same of a file in it, which must be root's or this user's; "" also where it is gone.
std::string other_writer(const Folder& folder, const std::string& name);
/// Why others could replace an entry made in `folder`. "" = they cannot.
std::string other_replacer(const Folder& folder);

}  // namespace headrace::files
