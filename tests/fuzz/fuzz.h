/*
 * fuzz.h - one function for each fuzz target
 *
 * With --enable-fuzzing libFuzzer calls it; otherwise replay.c does, with each
 * file of tests/fuzz/corpus/NAME/ for tests/fuzz/fuzz_NAME.
 */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

/* Returns 0; a failure is an assertion or a sanitizer's report. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
