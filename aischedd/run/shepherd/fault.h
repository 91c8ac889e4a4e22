/*
 * fault.h - whose fault it is if a file of the user's cannot be used
 *
 * Applies to the job's outputs, input, folder and interpreter. Most that can be
 * wrong with a path is up to its user, who could otherwise make everybody avoid
 * a node; the rest may work on another node.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_FAULT_H
#define AISCHEDD_RUN_SHEPHERD_FAULT_H

#include "aischedd/run/runner.h"

enum start_fault fault_of(int code);

#endif
