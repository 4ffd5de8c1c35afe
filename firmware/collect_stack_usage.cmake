# SPDX-License-Identifier: Apache-2.0
# One text file beside an archive instead of one beside each object: what -fstack-usage said of its functions.
set(all "")
foreach(directory IN LISTS directories)
  file(GLOB_RECURSE files ${directory}/*.su)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(APPEND all "${text}")
  endforeach()
endforeach()
file(WRITE ${output} "${all}")
