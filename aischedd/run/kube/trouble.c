/* trouble.c - report what keeps the pool from working, and what its nodes
 * lack */
#include "aischedd/run/kube/trouble.h"

#include <string.h>

#include "aischedd/run/kube/kube.h"
#include "libcommon/clock.h"

enum {
	/* how long a refusal is reported if it does not occur again: longer
	 * than the daemon waits before it starts a job again */
	REFUSAL_MS = 400000
};

/* Returns the error of a call that the API server refuses, or NULL. A refused
 * call of a job is forgotten after a while, as the job may be gone. */
static const char *refusal(const struct kube *kube)
{
	for (size_t k = 0; k < kube->spaces.n * ASK_KINDS; k++) {
		const struct kube_refused *r =
		    &kube->spaces.s[k / ASK_KINDS]->refused[k % ASK_KINDS];

		if (r->err.code && clock_boot_ms() - r->ms < REFUSAL_MS)
			return r->err.text;
	}
	if (kube->drain.trouble.code)
		return kube->drain.trouble.text;
	if (kube->standins.trouble.code)
		return kube->standins.trouble.text;
	if (kube->standins.refused.code)
		return kube->standins.refused.text;
	return kube->notes.mute.code ? kube->notes.mute.text : NULL;
}

/* Returns the error of the first watch from `from` to `end` that does not work,
 * or NULL. */
static const char *blind(const struct kube *kube, int from, int end)
{
	for (int i = from; i < end; i++) {
		if (kube->sight.blind[i].code)
			return kube->sight.blind[i].text;
		for (size_t k = 0; k < kube->spaces.n; k++) {
			const struct kube_sight *sight =
			    &kube->spaces.s[k]->sight;

			if (sight->blind[i].code)
				return sight->blind[i].text;
		}
	}
	return NULL;
}

/* Returns why the pool does not work, or NULL. If there are several reasons,
 * returns the one that delays most jobs. */
static const char *trouble(const struct kube *kube)
{
	const struct err *err = kube_http_trouble(kube->http);
	const char *text = err ? err->text : blind(kube, 0, SEE_CLAIMS);

	if (!text && kube->version.old.code)
		text = kube->version.old.text;
	if (!text)
		text = kube_lease_trouble(kube->lease);
	if (!text)
		text = refusal(kube);
	if (!text)
		text = blind(kube, SEE_CLAIMS, SEE_SLICES);
	if (!text &&
	    (kube->pool->devices == DEVICES_DRA || kube_kinds_any(kube->pool)))
		text = blind(kube, SEE_SLICES, SEE_GRANT_TEMPLATES);
	return text;
}

/* Report the text, if it differs from the last one reported, *told. */
static void tell(struct kube *kube, enum run_event_kind kind, const char *text,
                 struct buf *told)
{
	const char *was = told->len ? told->data : "";

	if (!strcmp(text ? text : "", was))
		return;
	buf_clear(told);
	if (text)
		buf_puts(told, text);
	kube->fn(&(struct run_event){ .kind = kind, .text = text }, kube->arg);
}

void kube_trouble_tell(struct kube *kube)
{
	tell(kube, RUN_TROUBLE, trouble(kube), &kube->told.trouble);
}

/* Returns a text on the labels of the topology and the GPUs that nodes lack,
 * and on NUMA nodes that cannot be used; NULL: there is nothing to report. */
static const char *lacks(struct kube *kube)
{
	const char *labels = kube_nodes_lacks(kube->nodes);
	const char *gpus = kube_devices_lacks(kube);
	struct buf *all = &kube->told.all;

	buf_clear(all);
	if (labels)
		buf_puts(all, labels);
	if (gpus)
		buf_printf(all, "%s%s", all->len ? "; " : "", gpus);
	kube_numa_lacks(kube, all);
	return all->len ? all->data : NULL;
}

void kube_trouble_tell_lacks(struct kube *kube)
{
	if (!kube->recovery.done)
		return;
	/* Report changes of nodes first, so that the daemon's listings are not
	 * older than what its log says about the nodes. */
	kube_nodes_flush(kube->nodes);
	tell(kube, RUN_LACKS, lacks(kube), &kube->told.lacks);
}

const char *kube_trouble_shortcomings(struct runner *r)
{
	struct kube *kube = kube_of(r);
	const char *text = trouble(kube);
	const char *lacking = kube->recovery.done ? lacks(kube) : NULL;

	buf_clear(&kube->told.shortcomings);
	buf_puts(&kube->told.shortcomings, "");
	if (text)
		buf_printf(&kube->told.shortcomings, "Pool '%s': %s.",
		           kube->pool->name, text);
	if (lacking)
		buf_printf(&kube->told.shortcomings, "%sPool '%s': %s.",
		           text ? " " : "", kube->pool->name, lacking);
	return kube->told.shortcomings.data;
}

void kube_trouble_fini(struct kube_told *told)
{
	buf_free(&told->trouble);
	buf_free(&told->lacks);
	buf_free(&told->all);
	buf_free(&told->shortcomings);
}
