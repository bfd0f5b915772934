# SPDX-License-Identifier: Apache-2.0
# Plain C programs under ctest: each tests/unit/test_<x>.c is one test, exit 0 = pass, 77 = skipped with a reason.
file(GLOB UNIT_TESTS CONFIGURE_DEPENDS tests/unit/test_*.c)
foreach(source IN LISTS UNIT_TESTS)
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE cgc cgc_flags)
  target_include_directories(${name} PRIVATE tests/unit)
  add_test(NAME ${name} COMMAND ${name})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
endforeach()
include(cmake/fuzz.cmake)

# What tests/test_iss.py runs guest programs with.
add_executable(iss_run tests/insns/iss_run.c)
target_link_libraries(iss_run PRIVATE cgc cgc_flags)
