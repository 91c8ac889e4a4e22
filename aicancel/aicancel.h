/*
 * aicancel.h - what the files of aicancel share: its command line
 */
#ifndef AICANCEL_AICANCEL_H
#define AICANCEL_AICANCEL_H

#include <jansson.h>
#include <stdbool.h>

#include "libcommon/opt.h"

struct cancel {
	const char *socket;
	/* NULL: not given */
	json_t *users, *queues, *states, *names, *labels;
	bool all, wait, json;
	int signo; /* 0: end the job */
};

extern const struct opt_prog aicancel_prog;

#endif
