// Whether a folder, and the mark in it, can be what headrace made of them.
#pragma once

#include <string>

#include "harness/files/folder.h"

namespace headrace::files {

/// Why what lies in `folder` may be another user's work: "/data/x belongs to user alice (1000)". "" = it is not. The owner must
/// be root, this process's user, the user who called sudo, or the user as whom a file server takes this process
/// (root squashing). Others may write the folder only where its sticky bit keeps them from replacing its files, or, of
/// a folder of this user's own, as members of its group. Modes count only on file systems that keep them. Throws
/// RunError.
std::string other_writer(const Folder& folder);
/// The same of a file in it; "" also where it is gone.
std::string other_writer(const Folder& folder, const std::string& name);

}  // namespace headrace::files
