/* scaled.c - nodes of templates: added when requested, and given back */
#include "aisim/scaled.h"

#include <stdlib.h>

#include "aischedd/state/cluster/node.h"
#include "aischedd/state/cluster/scale.h"
#include "libcommon/limits.h"
#include "libcommon/mem.h"
#include "libcommon/parse.h"

static void report(struct state *state, uint32_t n, bool gone)
{
	static const uint8_t none[LIMIT_GPUS];
	const struct conf_scale *conf = state_scale_of(state, n);
	const struct node *node = state_node(state, n);

	state_node_seen(state, node->pool,
	                &(struct node_info){
			    .name = node->name,
			    .cpu_milli = conf->cpus * 1000,
			    .mem_mib = conf->memory,
			    .tmp_mib = conf->tmp,
			    .ngpus = (uint32_t)conf->gpus,
			    .gpu_type = conf->gpu_type,
			    .gpu_numa = none,
			    .gpu_link = none,
			    .features = conf->features,
			    .topology = conf->topology,
			    .gone = gone,
			});
}

void scaled_add(struct scaled *sc, struct state *state, uint32_t node,
                int64_t now)
{
	sc->node = GROW(sc->node, sc->n, &sc->cap);
	sc->node[sc->n++] =
	    (struct scaled_node){ .node = node,
		                  .asked = now,
		                  .comes = now +
		                           state_scale_of(state, node)->delay };
	sc->asked++;
	if (sc->n > sc->most)
		sc->most = sc->n;
}

static double cost_of(const struct state *state, const struct scaled_node *it,
                      int64_t now)
{
	const struct conf_scale *conf = state_scale_of(state, it->node);

	return (double)conf->price * (double)(now - it->asked) / 3600;
}

void scaled_remove(struct scaled *sc, struct state *state, uint32_t node,
                   int64_t now)
{
	size_t i = 0;

	while (i < sc->n && sc->node[i].node != node)
		i++;
	if (i < sc->n) {
		sc->held_s += now - sc->node[i].asked;
		sc->cost += cost_of(state, &sc->node[i], now);
		sc->node[i] = sc->node[--sc->n];
	}
	report(state, node, true);
	state_scale_done(state, node, false, NULL, now);
}

static const struct scaled_node *next_of(const struct scaled *sc)
{
	const struct scaled_node *next = NULL;

	for (size_t i = 0; i < sc->n; i++) {
		const struct scaled_node *it = &sc->node[i];

		if (it->comes == NO_TIME ||
		    (next &&
		     (next->comes < it->comes ||
		      (next->comes == it->comes && next->node < it->node))))
			continue;
		next = it;
	}
	return next;
}

int64_t scaled_next(const struct scaled *sc)
{
	const struct scaled_node *next = next_of(sc);

	return next ? next->comes : NO_TIME;
}

int64_t scaled_take(struct scaled *sc, struct state *state, int64_t now)
{
	const struct scaled_node *next = next_of(sc);

	if (!next || next->comes > now)
		return -1;
	sc->node[next - sc->node].comes = NO_TIME;
	report(state, next->node, false);
	return next->node;
}

void scaled_print(const struct scaled *sc, const struct state *state,
                  int64_t now, FILE *out)
{
	int64_t held = sc->held_s;
	double cost = sc->cost;

	for (size_t i = 0; i < sc->n; i++) {
		held += now - sc->node[i].asked;
		cost += cost_of(state, &sc->node[i], now);
	}
	fprintf(out,
	        ",\"nodes_asked\":%llu,\"nodes_most\":%zu,"
	        "\"node_hours\":%.2f,\"node_cost\":%.2f",
	        (unsigned long long)sc->asked, sc->most, (double)held / 3600,
	        cost / 1e6);
}

void scaled_fini(struct scaled *sc)
{
	free(sc->node);
}
