# MLIR and LLVM as static archives. Debian's MLIR targets name libLLVM.so in
# their interface; mixing it with the archives gives two LLVMs in one process,
# so that name is stripped and LLVM's components are linked by name.
find_package(MLIR 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19/lib/cmake/mlir)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
# tblgen's depfiles name outputs from the build's root; without this CMake makes
# them relative to the folder and ninja takes every output for stale.
cmake_policy(SET CMP0116 OLD)
include(TableGen)
include(AddLLVM)
include(AddMLIR)

foreach(target ${MLIR_EXPORTED_TARGETS} ${MLIR_ALL_LIBS})
  if(TARGET ${target})
    get_target_property(libs ${target} INTERFACE_LINK_LIBRARIES)
    if(libs)
      list(FILTER libs EXCLUDE REGEX "^LLVM$")
      set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES
                                                 "${libs}")
    endif()
  endif()
endforeach()

add_library(betz_mlir_flags INTERFACE)
target_include_directories(betz_mlir_flags SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS}
                                                            ${LLVM_INCLUDE_DIRS})
target_compile_definitions(betz_mlir_flags INTERFACE ${LLVM_DEFINITIONS_LIST})
target_compile_options(betz_mlir_flags INTERFACE -fno-rtti)
target_link_libraries(betz_mlir_flags INTERFACE betz_flags)
