# SPDX-License-Identifier: Apache-2.0
# fuzz/fuzz_<reader>.c: replayed over fuzz/corpus/<reader> as an ordinary test; searching needs clang's libFuzzer:
#   cmake -S . -B build/fuzz -G Ninja -DCMAKE_C_COMPILER=clang-19 -DCGC_FUZZ=ON && ninja -C build/fuzz
#   build/fuzz/fuzz_ir -max_total_time=60 fuzz/corpus/ir
option(CGC_FUZZ "fuzz programs that search (clang)" OFF)
file(GLOB FUZZ_TARGETS CONFIGURE_DEPENDS fuzz/fuzz_*.c)
foreach(source IN LISTS FUZZ_TARGETS)
  get_filename_component(name ${source} NAME_WE)
  string(REPLACE "fuzz_" "" reader ${name})
  add_executable(${name}_replay ${source} fuzz/replay.c)
  target_link_libraries(${name}_replay PRIVATE cgc cgc_flags)
  target_include_directories(${name}_replay PRIVATE fuzz)
  add_test(NAME ${name} COMMAND ${name}_replay ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${reader})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77)
  if(CGC_FUZZ)
    # The library is compiled once more, into the program, so that its branches are counted.
    add_executable(${name} ${source} ${BASE_SRC} ${IR_SRC} ${OP_SRC} ${OP_UTIL_SRC} ${KERNEL_SRC} ${ISS_SRC} src/api/ctx.c)
    target_link_libraries(${name} PRIVATE cgc_flags)
    target_include_directories(${name} PRIVATE fuzz)
    target_compile_options(${name} PRIVATE -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer,address,undefined)
  endif()
endforeach()
