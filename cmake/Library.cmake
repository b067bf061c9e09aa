# One shared library of everything, libronde: for languages that load libraries at run time (bindings/python).

# The libraries it is made of: their public headers are its interface.
set(RONDE_LIBRARY_PARTS engine schedules topologies sim hw formats predict nccl lab api)

option(RONDE_LIBRARY "Build everything as one shared library, libronde, too" OFF)
option(RONDE_PYTHON "Build what the Python package needs (pip install . sets this)" OFF)
option(RONDE_CUDA_PACKAGE "Build what the Python package ronde-cuda needs (pip install bindings/cuda sets this)" OFF)
if(RONDE_PYTHON)
  set(RONDE_LIBRARY ON CACHE BOOL "" FORCE)
endif()
if(RONDE_LIBRARY)
  if(BUILD_SHARED_LIBS)
    message(FATAL_ERROR "libronde is made of static libraries: leave out RONDE_LIBRARY=ON or BUILD_SHARED_LIBS=ON")
  endif()
endif()

# It exports what the headers declare and no more, and calls its own functions whatever else the process has loaded: the
# command's libraries, or another libronde.
function(ronde_one_library)
  set(objects "")
  set(libraries "")
  foreach(part IN LISTS RONDE_LIBRARY_PARTS)
    list(APPEND objects $<TARGET_OBJECTS:ronde_${part}>)
    list(APPEND libraries ${part})
  endforeach()
  add_library(ronde_library SHARED ${objects})
  set_target_properties(ronde_library PROPERTIES OUTPUT_NAME ronde LINKER_LANGUAGE C)
  list(TRANSFORM libraries PREPEND ronde_)
  # What the parts link with, and none of the parts: their objects are in it already.
  set(externals "")
  foreach(library IN LISTS libraries)
    get_target_property(linked ${library} LINK_LIBRARIES)
    list(APPEND externals ${linked})
  endforeach()
  list(REMOVE_ITEM externals ${libraries})
  list(FILTER externals EXCLUDE REGEX "ronde_flags")
  list(REMOVE_DUPLICATES externals)
  target_link_libraries(ronde_library PRIVATE ${externals} $<BUILD_INTERFACE:ronde_flags>)
  target_link_options(ronde_library PRIVATE "LINKER:-Bsymbolic" "LINKER:-z,defs")
  set_target_properties(ronde_library PROPERTIES VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} INSTALL_RPATH "\$ORIGIN")
  install(TARGETS ronde_library LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}")
endfunction()
