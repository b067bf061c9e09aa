# What `cmake --install` puts where: libraries, public headers, the command, topologies, the CMake package ronde and
# ronde.pc. Everything finds everything else by relative paths, so an installed tree may be moved.

include(CMakePackageConfigHelpers)

# From a folder of the installation to the libraries, for run paths.
cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${CMAKE_INSTALL_FULL_BINDIR}"
           OUTPUT_VARIABLE RONDE_BIN_TO_LIB)

# A library of the package: target ronde_x is ronde::x there.
function(ronde_install_library target name)
  set_target_properties(${target} PROPERTIES
    EXPORT_NAME ${name}
    # Before 1.0 a new minor version may change the interface.
    VERSION ${PROJECT_VERSION}
    SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    INSTALL_RPATH "\$ORIGIN")
  install(TARGETS ${target} EXPORT ronde
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
    ARCHIVE DESTINATION "${CMAKE_INSTALL_LIBDIR}")
  if(EXISTS "${PROJECT_SOURCE_DIR}/${name}/include")
    install(DIRECTORY "${PROJECT_SOURCE_DIR}/${name}/include/" TYPE INCLUDE)
  endif()
endfunction()

# nccl-tests' programs as links to `ronde`, which tells by its name what is asked of it (cli/options/nccl_tests.c).
set(RONDE_NCCL_TESTS all_reduce all_gather broadcast reduce_scatter reduce alltoall gather scatter sendrecv)

function(ronde_install_nccl_tests target)
  foreach(name IN LISTS RONDE_NCCL_TESTS)
    install(CODE "
      set(folder \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_BINDIR}\")
      file(CREATE_LINK \"$<TARGET_FILE_NAME:${target}>\" \"\${folder}/${name}_perf\" SYMBOLIC)
    ")
  endforeach()
endfunction()

function(ronde_install_program target)
  set_target_properties(${target} PROPERTIES INSTALL_RPATH "\$ORIGIN/${RONDE_BIN_TO_LIB}")
  install(TARGETS ${target} RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
endfunction()

# The package files name what was built in, and only that.
function(ronde_install_package)
  set(dependencies "")
  set(libraries_private "-lm")
  list(TRANSFORM CMAKE_C_IMPLICIT_LINK_DIRECTORIES PREPEND "-L" OUTPUT_VARIABLE searched)
  # In ronde.pc they are libraries, not modules: what static ones would need (libudev, liblzma) no package brings.
  foreach(component IN ITEMS "LIBXML2 libxml-2.0" "HWLOC hwloc" "UCX ucx" "JANSSON jansson" "PROTOBUF libprotobuf-c"
                               "ZLIB zlib")
    separate_arguments(component)
    list(POP_FRONT component name)
    if(RONDE_HAVE_${name} AND (RONDE_HAVE_LIBXML2 OR NOT name STREQUAL "HWLOC"))
      string(APPEND dependencies "find_dependency(PkgConfig)\n"
                                 "pkg_check_modules(${name} REQUIRED IMPORTED_TARGET ${component})\n")
      set(flags ${${name}_LDFLAGS})
      list(REMOVE_ITEM flags ${searched})
      list(JOIN flags " " flags)
      string(PREPEND libraries_private "${flags} ")
    endif()
  endforeach()
  string(APPEND dependencies "set(THREADS_PREFER_PTHREAD_FLAG ON)\nfind_dependency(Threads)\n")
  set(libraries_private "-pthread ${libraries_private}")
  if(RONDE_HAVE_SIMGRID)
    # The engine is a shared library in both kinds of build, loaded at run time.
    set(libraries_private "-ldl ${libraries_private}")
  endif()
  if(RONDE_HAVE_CUDA)
    set(libraries_private "-lronde_cuda ${libraries_private}")
  endif()
  if(BUILD_SHARED_LIBS)
    set(dependencies "")
  endif()
  ronde_install_cmake_package("${dependencies}")
  ronde_install_pkg_config("${libraries_private}")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/topologies/" DESTINATION "${CMAKE_INSTALL_DATADIR}/ronde/topologies"
    FILES_MATCHING PATTERN "*.xml" PATTERN include EXCLUDE)
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/predict/tables/" DESTINATION "${CMAKE_INSTALL_DATADIR}/ronde/tune"
    FILES_MATCHING PATTERN "*.txt")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/nccl/model/constants/" DESTINATION "${CMAKE_INSTALL_DATADIR}/ronde/nccl"
    FILES_MATCHING PATTERN "*.txt")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/topologies/published/" DESTINATION "${CMAKE_INSTALL_DATADIR}/ronde/machines"
    FILES_MATCHING PATTERN "*.txt")
  install(DIRECTORY "${PROJECT_SOURCE_DIR}/docs/examples" TYPE DOC)
  install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" TYPE DOC)
endfunction()

function(ronde_install_cmake_package dependencies)
  set(folder "${CMAKE_INSTALL_LIBDIR}/cmake/ronde")
  set(RONDE_DEPENDENCIES "${dependencies}")
  configure_package_config_file("${PROJECT_SOURCE_DIR}/cmake/rondeConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/rondeConfig.cmake" INSTALL_DESTINATION "${folder}")
  write_basic_package_version_file("${PROJECT_BINARY_DIR}/rondeConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
  install(EXPORT ronde NAMESPACE ronde:: FILE rondeTargets.cmake DESTINATION "${folder}")
  install(FILES "${PROJECT_BINARY_DIR}/rondeConfig.cmake" "${PROJECT_BINARY_DIR}/rondeConfigVersion.cmake"
    DESTINATION "${folder}")
endfunction()

# Paths in ronde.pc start from its own folder, which both pkg-config and pkgconf know.
function(ronde_install_pkg_config libraries_private)
  set(folder "${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig")
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_LIBDIR BASE_DIRECTORY "${folder}"
             OUTPUT_VARIABLE RONDE_PC_LIBDIR)
  cmake_path(RELATIVE_PATH CMAKE_INSTALL_FULL_INCLUDEDIR BASE_DIRECTORY "${folder}"
             OUTPUT_VARIABLE RONDE_PC_INCLUDEDIR)
  set(RONDE_PC_LIBS_PRIVATE "${libraries_private}")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/ronde.pc.in" "${PROJECT_BINARY_DIR}/ronde.pc" @ONLY)
  install(FILES "${PROJECT_BINARY_DIR}/ronde.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
endfunction()
