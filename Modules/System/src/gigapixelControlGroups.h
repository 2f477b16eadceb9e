/* Copyright The ITKGigapixel Authors. SPDX-License-Identifier: Apache-2.0 */
#ifndef gigapixelControlGroups_h
#define gigapixelControlGroups_h

#include <string>
#include <vector>

namespace gigapixel
{

/** Folders of the control groups that a process is in: its own first, then those above it, whose limits bind it, too.
 * Where they are not visible, as in a container, the first one that is. */
struct ControlGroups
{
  std::vector<std::string> unified; ///< of version 2, which has one hierarchy
  std::vector<std::string> former;  ///< of version 1, of the hierarchy with the controller

  /** \param controller "memory", "cpu" \param root where proc/ and sys/ lie, with a slash at its end */
  static ControlGroups Find(const std::string & controller, const std::string & root);
};

} // namespace gigapixel

#endif
