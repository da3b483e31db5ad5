# Warning and numeric flags of our own code. -ffp-contract=off is part of the numerics, not a choice.
add_library(qgc_warnings INTERFACE)
target_compile_options(qgc_warnings INTERFACE -Wall -Wextra -Wpedantic -Werror -ffp-contract=off
    -fvisibility=hidden)
target_compile_definitions(qgc_warnings INTERFACE _GNU_SOURCE)
