/* test_gpu_memory.c - parts of GPUs by memory (--gpu-memory) */
#include <stdio.h>
#include <stdlib.h>

#include "aischedd/state/life/submit.h"
#include "libcommon/steps.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

static const char conf[] = "pool here { runner = local }\npool small { }\n"
			   "pool cluster { runner = kubernetes }\n"
			   "node n80 { pool = here  gpu_memory = \"80G\" }\n"
			   "node n40 { pool = here  gpu_memory = \"40G\" }\n"
			   "node n16 { pool = here  gpu_memory = \"16G\" }\n"
			   "queue batch { }\n";

static const struct {
	const char *name;
	const char *step[12];
} cases[] = {
	{ "a part counts as that of the smallest GPU that is large enough",
	  { "submit gpu-memory=20G", "snap pend => * gpus=0.5 gpu_mem=20G*" } },
	{ "one that only the largest GPU has counts as that",
	  { "submit gpu-memory=60G",
	    "snap pend => * gpus=0.75 gpu_mem=60G*" } },
	{ "on its node it is another part",
	  { "submit gpu-memory=20G nodelist=n80", "run",
	    "snap run => * gpus=0.5 gpu_mem=20G* on=n80:g0/250*" } },
	{ "a change counts anew",
	  { "submit gpu-memory=20G", "update 1 gpu-memory=30G",
	    "snap pend => * gpus=0.75 gpu_mem=30G*",
	    "update 1 gpu-memory=;gpus-per-task=1", "snap pend => * gpus=1" } },
	{ "whole GPUs have the memory",
	  { "submit gpus-per-task=1 gpu-memory=60G", "run",
	    "snap run => * gpus=1 gpu_mem=60G* on=n80:g0*" } },
	{ "no GPU has as much",
	  { "submit gpu-memory=90G => ! no node of its pools has a GPU with "
	    "90G of memory; the largest that is known has 80G (n80)" } },
	{ "the memory of no GPU is known",
	  { "submit gpu-memory=1G pool=small => ! no node of its pools has a "
	    "GPU with 1G of memory; how much its GPUs have is not known, *" } },
	{ "a cluster shares no GPU",
	  { "submit gpu-memory=20G pool=cluster => ! --gpu-memory: pool "
	    "'cluster' is a cluster, where a GPU is not shared: ask for whole "
	    "ones" } },
};

START_TEST(gpu_memory_case)
{
	struct world w;

	world_init(&w, conf);
	world_node(&w, "n80", 8, 8000, 1);
	world_node(&w, "n40", 8, 8000, 1);
	world_node(&w, "n16", 8, 8000, 1);
	world_node(&w, "small/s", 8, 8000, 1);
	world_play(&w, cases[_i].name, cases[_i].step);
	world_fini(&w);
}
END_TEST

/* The part for which a job counts is found without a look at each node. */
START_TEST(nodes_are_looked_at_once)
{
	struct world w;
	struct spec spec;
	uint64_t before;

	world_init(&w, conf);
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "small/s%d", i);
		world_node(&w, name, 8, 8000, 1);
	}
	spec = world_spec(&w, "gpu-memory=20G pool=here");
	before = steps_so_far;
	for (int i = 0; i < 1000; i++)
		free(submit_pack(w.state, &spec, 0));
	ck_assert_uint_le(steps_so_far - before, 2000);
	world_fini(&w);
}
END_TEST

SUITE(gpu_memory)
{
	tcase_add_test(tc, nodes_are_looked_at_once);
	tcase_add_loop_test(tc, gpu_memory_case, 0, ARRAY_SIZE(cases));
}
