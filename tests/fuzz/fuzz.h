/*
 * fuzz.h - the function that each fuzz target defines
 *
 * With --enable-fuzzing libFuzzer calls it with generated inputs; otherwise
 * replay.c does, with each file of tests/fuzz/corpus/NAME/ for
 * tests/fuzz/fuzz_NAME.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Run the target on an input. Returns 0; a failure aborts with an assertion or
 * a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
