#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/state/cluster/node.h"
#include "aisim/cluster.h"
#include "aisim/sim.h"
#include "libcommon/mem.h"
#include "tests/fuzz/fuzz.h"

#define CONF                                                          \
	"pool sim { }\n"                                              \
	"node n[0-3] { pool = sim cpus = 8 memory = 64M gpus = 4 }\n" \
	"queue top { quota { gpus = 12 } }\n"                         \
	"queue a { parent = top quota { gpus = 8 } }\n"               \
	"queue b { parent = top limit { gpus = 6 } }\n"               \
	"default_queue = \"a\"\n"

enum { SECONDS = 2000 }; /* simulated seconds of each input */

static int no_past(uint64_t job, uint32_t task, struct past *ret, void *arg)
{
	(void)job;
	(void)task;
	(void)arg;
	*ret = (struct past){ .state = JOB_COMPLETED };
	return 0;
}

/* Simulate a trace. Every trace that can be read must run, and all its plans
 * must be valid. */
static void run(struct sim *sim, const char *text, size_t size)
{
	const char *end = text + size, *eol;
	struct err err = { 0 };
	uint32_t line = 0;

	assert(cluster_begin(sim->state, &err) == 0);
	for (; text < end; text = eol + 1) {
		eol = memchr(text, '\n', (size_t)(end - text));
		if (!eol)
			eol = end;
		if (trace_line(sim->trace, text, (size_t)(eol - text), ++line,
		               &err) < 0)
			return;
	}
	if (trace_finish(sim->trace, &err) < 0)
		return;
	sim_init(sim);
	tell_init(&sim->tell, state_nnodes(sim->state), NULL);
	if (sim_run(sim, &err) < 0)
		assert(err.code == EBUSY);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct sim sim = { .check = true };
	struct conf *conf;

	conf = conf_parse(CONF, "conf", NULL, NULL);
	assert(conf);
	sim.state = state_new(conf, no_past, &sim);
	sim.trace = trace_new(sim.state, "f");
	sim.trace->until = SECONDS;
	run(&sim, (const char *)data, size);
	sim_fini(&sim);
	state_free(sim.state);
	conf_free(conf);
	return 0;
}
