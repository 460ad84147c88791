# Flags that every target shares, and the one way to declare a library.
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

add_library(betz_flags INTERFACE)
target_include_directories(betz_flags INTERFACE ${CMAKE_SOURCE_DIR}
                                                ${CMAKE_BINARY_DIR})
target_compile_options(betz_flags INTERFACE -Wall -Wextra -Werror
                                            -Wno-unused-parameter)
target_compile_definitions(betz_flags
                           INTERFACE BETZ_VERSION="${PROJECT_VERSION}")
target_link_options(betz_flags INTERFACE -fuse-ld=lld -Wl,--gc-sections
                                         -Wl,--as-needed)
target_compile_options(betz_flags INTERFACE -ffunction-sections
                                            -fdata-sections)
if(BETZ_SANITIZE STREQUAL "thread")
  target_compile_options(betz_flags INTERFACE -fsanitize=thread)
  target_link_options(betz_flags INTERFACE -fsanitize=thread)
elseif(BETZ_SANITIZE)
  # fuzzer-no-link: the fuzzers see which branches of the libraries they reach.
  target_compile_options(
    betz_flags INTERFACE -fsanitize=address,undefined,fuzzer-no-link
                         -fno-sanitize-recover=all -fno-omit-frame-pointer
                         -fsanitize-ignorelist=${CMAKE_CURRENT_LIST_DIR}/sanitizer-ignorelist.txt)
  target_link_options(betz_flags INTERFACE -fsanitize=address,undefined)
else()
  # One binary must run on any glibc as new as Debian 12's.
  target_link_options(betz_flags INTERFACE -static-libstdc++ -static-libgcc)
endif()

find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(GTest REQUIRED)

# CUDA is found when the program runs; only its headers are needed to build, and
# a build without them has stubs in their place.
find_path(BETZ_CUDA_INCLUDE cuda.h HINTS $ENV{CUDA_HOME}/include
                                         /usr/local/cuda/include)

# betz_library(NAME SOURCES ... LINK ...): a static library `betz_NAME`.
function(betz_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(betz_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(betz_${name} PUBLIC betz_flags ${ARG_LINK})
endfunction()
