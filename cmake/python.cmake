# SPDX-License-Identifier: Apache-2.0
# The Python binding opencgc._cgc: cffi in API mode over include/cgc.h, one abi3 module for every Python >= 3.10.
# The declarations are the part of the header between its two cffi markers: there is no second copy.
find_package(Python 3.10 COMPONENTS Interpreter Development.Module)
if(NOT Python_Development.Module_FOUND)
  message(FATAL_ERROR "the Python module needs Python.h of Python 3.10 or later: ${Python_EXECUTABLE} comes without it "
                      "(Debian and Ubuntu: the package python3-dev; Pythons of pyenv, conda and python.org have it)")
endif()

set(CGC_HEADER ${CMAKE_CURRENT_SOURCE_DIR}/include/cgc.h)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CGC_HEADER})
file(READ ${CGC_HEADER} header)
string(REGEX MATCH "/\\* cffi: begin \\*/(.*)/\\* cffi: end \\*/" found "${header}")
if(NOT found)
  message(FATAL_ERROR "${CGC_HEADER}: the cffi markers are missing")
endif()
file(CONFIGURE OUTPUT gen/cgc.cdef CONTENT "${CMAKE_MATCH_1}" @ONLY)
file(CONFIGURE OUTPUT gen/cgc.csrc CONTENT "#include \"cgc.h\"\n" @ONLY)
add_custom_command(OUTPUT gen/_cgc.c
  COMMAND ${Python_EXECUTABLE} -m cffi.gen_src read-sources opencgc._cgc gen/cgc.cdef gen/cgc.csrc gen/_cgc.c
  DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/gen/cgc.cdef WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR} VERBATIM)

# By hand rather than with python_add_library: its USE_SABI needs CMake 3.26.
add_library(cgc_python MODULE ${CMAKE_CURRENT_BINARY_DIR}/gen/_cgc.c)
target_compile_definitions(cgc_python PRIVATE Py_LIMITED_API=0x030a0000)
target_compile_options(cgc_python PRIVATE -fvisibility=hidden)
target_link_libraries(cgc_python PRIVATE cgc Python::Module)
set_target_properties(cgc_python PROPERTIES OUTPUT_NAME _cgc PREFIX "" SUFFIX ".abi3.so")

if(SKBUILD)
  install(TARGETS cgc_python DESTINATION opencgc COMPONENT python)
  install(TARGETS cgc_cli DESTINATION opencgc/bin COMPONENT python)
else()
  # For work on the tree: PYTHONPATH=python then finds the module beside its package.
  set_target_properties(cgc_python PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/python/opencgc)
endif()
