# SPDX-License-Identifier: Apache-2.0
# From isa/isa.def at configure time:
#   gen/ccl_insn.h     one C function per array instruction: inline assembly on RISC-V, elsewhere a prototype and, in
#                      the one file that defines CCL_EPU_BODIES, its body over iss/insns/<insn>.h
#   gen/iss_insn.inc   the simulator's view: bodies, uniform callers, and the list ISS_INSN_LIST(ROW)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS isa/isa.def)
file(STRINGS isa/isa.def lines REGEX "^INSN\\(")
set(asm "")
set(prototypes "")
set(includes "")
set(bodies "")
set(callers "")
set(rows "")
foreach(line IN LISTS lines)
  string(REGEX MATCH "^INSN\\(([a-z0-9_]+), *([0-9]), *([0-9]), *([A-Z]+), *([^,]+), *([^,]+), *([^,]+),.*,? *\"([^\"]*)\"\\)" ok "${line}")
  if(NOT ok)
    message(FATAL_ERROR "isa/isa.def: cannot read: ${line}")
  endif()
  set(name ${CMAKE_MATCH_1})
  set(f3 ${CMAKE_MATCH_2})
  set(f2 ${CMAKE_MATCH_3})
  set(queue ${CMAKE_MATCH_4})
  set(types "${CMAKE_MATCH_5};${CMAKE_MATCH_6};${CMAKE_MATCH_7}")
  set(meaning "${CMAKE_MATCH_8}")
  set(params "")
  set(registers "")
  set(constraints "")
  set(arguments "")
  set(call_arguments "")
  set(descriptor_bytes 0)
  set(n 0)
  set(position 0)
  foreach(type IN LISTS types)
    string(STRIP "${type}" type)
    if(type STREQUAL "void")
      list(APPEND registers "x0")
    else()
      list(APPEND params "${type}")
      if(type MATCHES "^(const ([a-z_]+) \\*)([a-z_]+)$")
        set(descriptor_bytes "sizeof(${CMAKE_MATCH_2})")
        set(operand ${CMAKE_MATCH_3})
        string(APPEND call_arguments ", (${CMAKE_MATCH_1})d")
      elseif(type MATCHES "^uint32_t ([a-z_]+)$")
        set(operand ${CMAKE_MATCH_1})
        string(APPEND call_arguments ", x[${position}]")
      else()
        message(FATAL_ERROR "isa/isa.def: cannot read operand '${type}' of ${name}")
      endif()
      list(APPEND constraints "\"r\"(${operand})")
      list(APPEND registers "%${n}")
      string(APPEND arguments ", ${operand}")
      math(EXPR n "${n} + 1")
    endif()
    math(EXPR position "${position} + 1")
  endforeach()
  string(REPLACE ";" ", " params "${params}")
  string(REPLACE ";" ", " constraints "${constraints}")
  string(REPLACE ";" ", " registers "${registers}")
  if(params STREQUAL "")
    set(params "void")
  endif()
  string(APPEND asm "/* ${meaning} */\n")
  string(APPEND includes "#include \"insns/${name}.h\"\n")
  if(name STREQUAL "cycles")
    string(APPEND asm "CCL_INSN uint32_t ccl_cycles(void)\n{\n    uint32_t rd;\n    __asm__ volatile(\".insn r4 0x0b, ${f3}, ${f2}, %0, x0, x0, x0\" : \"=r\"(rd) : : \"memory\");\n    return rd;\n}\n\n")
    string(APPEND prototypes "uint32_t ccl_cycles(void);\n")
    string(APPEND bodies "uint32_t ccl_cycles(void)\n{\n    insn_cycles(&ccl_epu_state);\n    return 0;\n}\n\n")
  else()
    string(APPEND asm "CCL_INSN void ccl_${name}(${params})\n{\n    __asm__ volatile(\".insn r4 0x0b, ${f3}, ${f2}, x0, ${registers}\" : : ${constraints} : \"memory\");\n}\n\n")
    string(APPEND prototypes "void ccl_${name}(${params});\n")
    string(APPEND bodies "void ccl_${name}(${params})\n{\n    if (ccl_epu_begin())\n        insn_${name}(&ccl_epu_state${arguments});\n}\n\n")
  endif()
  string(APPEND callers "static void call_${name}(epu *e, const void *d, const uint32_t *x)\n{\n    (void)d;\n    (void)x;\n    insn_${name}(e${call_arguments});\n}\n\n")
  string(APPEND rows " \\\n    ROW(${name}, ${f3}, ${f2}, ${queue}, ${descriptor_bytes})")
endforeach()
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/gen/ccl_insn.h.new "/* SPDX-License-Identifier: Apache-2.0
 * Generated from isa/isa.def: one function per array instruction. */
#ifndef CCL_INSN_H
#define CCL_INSN_H

#if defined(__riscv)

/* Without debug information of their own, so that a place in the program is the line that calls them. */
#if defined(__clang__)
#define CCL_INSN static inline __attribute__((always_inline, nodebug))
#else
#define CCL_INSN static inline __attribute__((always_inline))
#endif

${asm}#else

${prototypes}
#endif

#endif

/* Bodies for ccl_epu_host.c, which alone defines CCL_EPU_BODIES after including this file once. */
#if defined(CCL_EPU_BODIES)
${includes}
${bodies}#endif
")
file(WRITE ${CMAKE_CURRENT_BINARY_DIR}/gen/iss_insn.inc.new "/* Generated from isa/isa.def for iss/array.c. */
${includes}
${callers}/* ROW(name, funct3, funct2, queue, bytes of the descriptor or 0) */
#define ISS_INSN_LIST(ROW)${rows}
")
foreach(file ccl_insn.h iss_insn.inc)
  configure_file(${CMAKE_CURRENT_BINARY_DIR}/gen/${file}.new ${CMAKE_CURRENT_BINARY_DIR}/gen/${file} COPYONLY)
endforeach()
add_custom_target(cgc_gen)
