# Flags that every target shares, carried by the interface target ronde_flags.

set(CMAKE_C_STANDARD 11)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS OFF)
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# A static library of ours may become part of a shared one of the user's; and static, shared and Python's builds compile to
# the same objects, which ccache then compiles once.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(ronde_flags INTERFACE)
# Bit-identical results on every backend rest on one rounding per operation: no contraction into fused multiply-add.
target_compile_options(ronde_flags INTERFACE -ffp-contract=off)
target_compile_definitions(ronde_flags INTERFACE RONDE_VERSION="${PROJECT_VERSION}")

# Newer compilers refuse these by themselves: a program that was compiled all the same passes arguments of other types.
target_compile_options(ronde_flags INTERFACE $<$<COMPILE_LANGUAGE:C>:-Werror=implicit-function-declaration
  -Werror=incompatible-pointer-types -Werror=int-conversion>)

# What waits for a person, a file or a launch, and nothing that replays, proves, moves or searches: there optimising at length
# costs a fifth of the build's time and makes no answer faster.
function(ronde_compile_quickly target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C>>:-O1>)
endfunction()

# What proves, executes, prices and replays.
function(ronde_compile_at_length target)
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C>>:-O3>)
endfunction()

if(RONDE_STRICT)
  target_compile_options(ronde_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Werror
    # g++ takes a struct and a function of one name for shadowing; in C they live in different name spaces.
    $<$<COMPILE_LANGUAGE:C>:-Wshadow>)
endif()

if(RONDE_SANITIZE)
  target_compile_options(ronde_flags INTERFACE
    -fsanitize=${RONDE_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # The interpreter inlined takes 5 to 20 s a file with every check in it.
  target_compile_definitions(ronde_flags INTERFACE RONDE_INTERP_INLINE=unused)
  # A sanitizer calls dlopen in our place, and the linker's newer kind of path is for libraries that the caller itself names.
  target_link_options(ronde_flags INTERFACE -fsanitize=${RONDE_SANITIZE} -Wl,--disable-new-dtags)
endif()

# One library per folder, static unless BUILD_SHARED_LIBS, with the folder's public headers in <folder>/include.
#
#   ronde_add_library(engine SOURCES a.c b.c [DEPENDS ronde_x ...] [PRIVATE_DEPENDS lib ...])
#
# The repository root is on the private path so that a file may name its neighbour's internal header in full
# ("engine/ir/arena.h"); which folder may do so with which is what tests/layers checks.
function(ronde_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;PRIVATE_DEPENDS" ${ARGN})
  if(NOT ARG_SOURCES)
    message(FATAL_ERROR "${name}/ has no source files")
  endif()
  add_library(ronde_${name} ${ARG_SOURCES})
  # No -Dronde_x_EXPORTS, which nothing asks and shared builds alone would have.
  set_target_properties(ronde_${name} PROPERTIES DEFINE_SYMBOL "")
  add_library(ronde::${name} ALIAS ronde_${name})
  target_include_directories(ronde_${name}
    PUBLIC "$<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${name}/include>"
           "$<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>"
    PRIVATE "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/${name}")
  target_link_libraries(ronde_${name}
    PUBLIC ${ARG_DEPENDS}
    PRIVATE $<BUILD_INTERFACE:ronde_flags> ${ARG_PRIVATE_DEPENDS})
  ronde_install_library(ronde_${name} ${name})
endfunction()

# The .c files of this folder, or of the named folders in it, except the ones that stand in for an absent component.
function(ronde_sources out_list)
  set(rooms ${ARGN})
  if(NOT rooms)
    set(rooms .)
  endif()
  set(files "")
  foreach(room IN LISTS rooms)
    cmake_path(APPEND CMAKE_CURRENT_SOURCE_DIR ${room} OUTPUT_VARIABLE directory)
    cmake_path(NORMAL_PATH directory)
    # "." leaves a slash behind, and a file has to have one path only (ronde_choose).
    string(REGEX REPLACE "/$" "" directory "${directory}")
    file(GLOB in_room CONFIGURE_DEPENDS "${directory}/*.c")
    list(APPEND files ${in_room})
  endforeach()
  list(FILTER files EXCLUDE REGEX "_absent\\.c$")
  set(${out_list} ${files} PARENT_SCOPE)
endfunction()

# Takes X.c if the component is there and X_absent.c if not, so that callers need no #ifdef.
function(ronde_choose list_name have file)
  string(REGEX REPLACE "\\.c(pp)?$" "" stem "${file}")
  set(absent "${CMAKE_CURRENT_SOURCE_DIR}/${stem}_absent.c")
  set(present "${CMAKE_CURRENT_SOURCE_DIR}/${file}")
  set(files ${${list_name}})
  list(REMOVE_ITEM files "${present}" "${absent}")
  if(have)
    list(APPEND files "${present}")
  else()
    list(APPEND files "${absent}")
  endif()
  set(${list_name} ${files} PARENT_SCOPE)
endfunction()
