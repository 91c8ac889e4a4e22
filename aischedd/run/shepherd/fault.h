/*
 * fault.h - whose fault it is that something of the user's cannot be used
 *
 * Of the job's outputs, input, folder and interpreter.  Most that can be wrong
 * with a path is up to its user, who could otherwise have a node avoided by
 * everybody; the rest may go well on another node.
 */
#ifndef AISCHEDD_RUN_SHEPHERD_FAULT_H
#define AISCHEDD_RUN_SHEPHERD_FAULT_H

#include "aischedd/run/runner.h"

enum start_fault fault_of(int code);

#endif
