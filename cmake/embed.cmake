# SPDX-License-Identifier: Apache-2.0
# Embeds the files that emitted programs need into emit_embedded.c (src/emit/emit.h), so that the compiler needs no
# data folder. The text is written as string pieces; changes trigger a new configure.
file(GLOB EMBED_FILES CONFIGURE_DEPENDS
  include/ccl.h ccl/*.h ccl/ref/*.c ccl/ref/*.h ccl/epu/* ccl/x86_avx512vnni/* iss/insns/*.h isa/isa.def)
set(CGC_EMBEDDED_C ${CMAKE_CURRENT_BINARY_DIR}/gen/emit_embedded.c)
add_custom_command(OUTPUT ${CGC_EMBEDDED_C}
  COMMAND ${CMAKE_COMMAND} -D "FILES=${EMBED_FILES}" -D "ROOT=${CMAKE_CURRENT_SOURCE_DIR}" -D "GEN=${CMAKE_CURRENT_BINARY_DIR}/gen"
          -D "OUT=${CGC_EMBEDDED_C}" -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_run.cmake
  DEPENDS ${EMBED_FILES} cgc_gen ${CMAKE_CURRENT_SOURCE_DIR}/cmake/embed_run.cmake VERBATIM)
