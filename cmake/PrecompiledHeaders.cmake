# Headers that most files read, parsed once for each set of flags instead of once
# a file: a third of the time of a build. Files still include what they use, and
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without (and lets ccache share
# objects between folders).
set(BETZ_COMMON_HEADERS
    <algorithm>
    <chrono>
    <cmath>
    <cstdint>
    <filesystem>
    <fmt/format.h>
    <fmt/ranges.h>
    <functional>
    <map>
    <memory>
    <nlohmann/json.hpp>
    <optional>
    <random>
    <span>
    <string>
    <vector>)
set(BETZ_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h>)
set(BETZ_MLIR_HEADERS
    <llvm/ADT/SmallVector.h> <llvm/ADT/StringMap.h> <llvm/ADT/TypeSwitch.h>
    <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/IRMapping.h>
    <mlir/IR/PatternMatch.h> <mlir/Pass/Pass.h>)

# Whether `target` links `library`, itself or through what it links.
function(betz_links target library result)
  set(queue ${target})
  set(seen)
  while(queue)
    list(POP_FRONT queue next)
    if(next IN_LIST seen OR NOT TARGET ${next})
      continue()
    endif()
    list(APPEND seen ${next})
    foreach(field LINK_LIBRARIES INTERFACE_LINK_LIBRARIES)
      get_target_property(links ${next} ${field})
      if(links)
        list(APPEND queue ${links})
      endif()
    endforeach()
  endwhile()
  if(library IN_LIST seen)
    set(${result} TRUE PARENT_SCOPE)
  else()
    set(${result} FALSE PARENT_SCOPE)
  endif()
endfunction()

# The target whose headers the targets of one set of flags reuse.
function(betz_header_owner name isTest usesMlir)
  set(source ${CMAKE_BINARY_DIR}/${name}.cpp)
  if(NOT EXISTS ${source})
    file(WRITE ${source} "")
  endif()
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE betz_flags fmt::fmt-header-only
                                        nlohmann_json::nlohmann_json)
  target_precompile_headers(${name} PRIVATE ${BETZ_COMMON_HEADERS})
  if(isTest)
    # Executables are compiled so.
    target_compile_options(${name} PRIVATE -fPIE)
    target_link_libraries(${name} PRIVATE GTest::gtest)
    target_precompile_headers(${name} PRIVATE ${BETZ_TEST_HEADERS})
  endif()
  if(usesMlir)
    target_link_libraries(${name} PRIVATE betz_mlir_flags)
    target_precompile_headers(${name} PRIVATE ${BETZ_MLIR_HEADERS})
  endif()
endfunction()

function(betz_precompile_headers)
  betz_collect_targets(${CMAKE_SOURCE_DIR} targets)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    betz_links(${target} betz_flags isOurs)
    betz_links(${target} GTest::gtest isTest)
    betz_links(${target} betz_mlir_flags usesMlir)
    if(NOT isOurs OR NOT (isTest OR type STREQUAL "STATIC_LIBRARY"))
      continue()
    endif()
    set(owner betz_headers)
    if(isTest)
      string(APPEND owner _test)
    endif()
    if(usesMlir)
      string(APPEND owner _mlir)
    endif()
    if(NOT TARGET ${owner})
      betz_header_owner(${owner} ${isTest} ${usesMlir})
    endif()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endforeach()
endfunction()

cmake_language(DEFER DIRECTORY ${CMAKE_SOURCE_DIR} CALL betz_precompile_headers)
