// Whether a folder, and the mark in it, can be what headrace made of them.
#pragma once

#include <string>

#include "harness/base/files/folder.h"

namespace headrace::files {

/// Why what lies in `folder` may be another user's work: "/data/x belongs to user alice (1000)". "" = it is not. The owner must
/// be root, this process's user, the user who called sudo, or the user as whom a file server takes this process
/// (root squashing). Another user may own it where only root, this user and its owner can have put it: whoever names it
/// means that user's.
/// Others may write it only where its sticky bit keeps them from replacing its files, or as members of its group, unless
/// it is root's. Modes count only on file systems that keep them. Throws RunError.
std::string other_writer(const Folder& folder);
/// The same of a file in it, which must be root's or this user's; "" also where it is gone.
std::string other_writer(const Folder& folder, const std::string& name);
/// Why others could replace what is made in `folder`. "" = they cannot.
std::string other_replacer(const Folder& folder);

}  // namespace headrace::files
