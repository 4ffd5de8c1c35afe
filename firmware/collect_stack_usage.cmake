# SPDX-License-Identifier: Apache-2.0
# One text file per archive instead of one per object: the output of -fstack-usage for its functions.
set(all "")
foreach(directory IN LISTS directories)
  file(GLOB_RECURSE files ${directory}/*.su)
  foreach(file IN LISTS files)
    file(READ ${file} text)
    string(APPEND all "${text}")
  endforeach()
endforeach()
file(WRITE ${output} "${all}")
