/* test_volume.c - jobs that mount volume claims */
#include "aischedd/run/runner.h"
#include "aischedd/state/cluster/reconf.h"
#include "aischedd/state/cluster/volume.h"
#include "tests/unit/check.h"
#include "tests/unit/state/world.h"

/* A claim that only one pod may mount: jobs that mount it run one after the
 * other. */
START_TEST(a_claim_of_one_node_is_handed_on)
{
	struct volume_info data = { .namespace = "aisched",
		                    .name = "data",
		                    .share = VOLUME_ONE_POD,
		                    .anywhere = true };
	struct world w;

	world_with_node(&w, "pool here { runner = kubernetes }\n"
	                    "queue batch { }\n");
	state_volume_seen(w.state, 0, &data, w.now);
	state_volume_seen(
	    w.state, 0, &(struct volume_info){ .namespace = "aisched" }, w.now);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_ne(world_submit(&w, "mount=pvc:data:/data"), 0);
	world_run(&w);
	ck_assert_str_eq(world_jobs(&w), "1 R, 2 PD Volume, 3 PD Volume");
	world_end(&w, 1, 0);
	world_commit(&w);
	world_run(&w);
	ck_assert_str_eq(world_jobs(&w), "2 R, 3 PD Volume");
	world_end(&w, 2, 0);
	world_commit(&w);
	world_run(&w);
	ck_assert_str_eq(world_jobs(&w), "3 R");
	world_fini(&w);
}
END_TEST

/* Claims with the same name in two namespaces are two claims, so one job of
 * each queue runs. A namespace that cannot be listed keeps only jobs of its own
 * queues waiting. */
START_TEST(claims_belong_to_namespaces)
{
	struct volume_info data = { .name = "data",
		                    .share = VOLUME_ONE_POD,
		                    .anywhere = true };
	struct world w;

	world_with_node(&w, "pool here { runner = kubernetes "
	                    "namespaces = {x, y, z} }\n"
	                    "queue a { } queue b { namespace = y }\n"
	                    "queue c { namespace = z }\n");
	for (int i = 0; i < 2; i++) {
		data.namespace = i ? "y" : "x";
		state_volume_seen(w.state, 0, &data, w.now);
		state_volume_seen(
		    w.state, 0,
		    &(struct volume_info){ .namespace = data.namespace },
		    w.now);
	}
	state_volume_seen(
	    w.state, 0,
	    &(struct volume_info){ .namespace = "z", .why = "may not list" },
	    w.now);
	world_submit(&w, "queue=a mount=pvc:data:/data");
	world_submit(&w, "queue=a mount=pvc:data:/data");
	world_submit(&w, "queue=b mount=pvc:data:/data");
	world_submit(&w, "queue=b mount=pvc:data:/data");
	world_submit(&w, "queue=b mount=pvc:other:/data");
	world_submit(&w, "queue=c mount=pvc:data:/data");
	world_run(&w);
	ck_assert_str_eq(world_jobs(&w),
	                 "1 R, 2 PD Volume, 3 R, 4 PD Volume, 5 PD Volume, "
	                 "6 PD Volume");
	world_fini(&w);
}
END_TEST

static void see(struct world *w, const char *space)
{
	state_volume_seen(w->state, 0,
	                  &(struct volume_info){ .namespace = space,
	                                         .name = "data",
	                                         .share = VOLUME_ONE_POD,
	                                         .anywhere = true },
	                  w->now);
	state_volume_seen(w->state, 0,
	                  &(struct volume_info){ .namespace = space }, w->now);
}

/* A job that runs mounts the claim of its namespace, even if its queue names
 * another one by now. */
START_TEST(a_running_job_keeps_the_claim_of_its_namespace)
{
	struct world w;

	world_with_node(&w, "pool here { runner = kubernetes "
	                    "namespaces = {x, y} }\n"
	                    "queue a { namespace = x }\n");
	see(&w, "x");
	see(&w, "y");
	world_submit(&w, "queue=a mount=pvc:data:/data");
	world_run(&w);
	w.old_conf = w.conf;
	w.conf = world_conf("pool here { runner = kubernetes "
	                    "namespaces = {x, y} }\n"
	                    "queue a { namespace = y }\n");
	ck_assert_int_eq(state_reconf(w.state, w.conf, w.now, &w.err), 0);
	world_submit(&w, "queue=a mount=pvc:data:/data");
	world_submit(&w, "queue=a mount=pvc:data:/data");
	world_run(&w);
	ck_assert_str_eq(world_jobs(&w), "1 R, 2 R, 3 PD Volume");
	world_fini(&w);
}
END_TEST

SUITE(volume)
{
	tcase_add_test(tc, a_running_job_keeps_the_claim_of_its_namespace);
	tcase_add_test(tc, claims_belong_to_namespaces);
	tcase_add_test(tc, a_claim_of_one_node_is_handed_on);
}
