/* page.c - read the page of dcgm-exporter: how busy the GPUs of a node are */
#include "aischedd/run/kube/use/page.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/map.h"

enum page_metric { BUSY, ACTIVE, USED, FREE, METRICS };

static const char *const metrics[METRICS] = {
	[BUSY] = "DCGM_FI_DEV_GPU_UTIL", /* percent; not of MIG instances */
	[ACTIVE] = "DCGM_FI_PROF_GR_ENGINE_ACTIVE", /* 0 to 1 */
	[USED] = "DCGM_FI_DEV_FB_USED",             /* MiB */
	[FREE] = "DCGM_FI_DEV_FB_FREE",
};

/* The labels that we read; others are skipped. */
enum page_label { UUID, INSTANCE, NAMESPACE, POD, SHARE, LABELS };

static const char *const labels[LABELS] = {
	[UUID] = "UUID", [INSTANCE] = "GPU_I_ID", [NAMESPACE] = "namespace",
	[POD] = "pod",   [SHARE] = "vgpu", /* only if several pods share the GPU
	                                    */
};

static uint64_t hash_two(const char *a, const char *b)
{
	return hash_bytes(hash_bytes(0, a, strlen(a)), b, strlen(b));
}

uint64_t kube_page_pod(const char *namespace, const char *name)
{
	return hash_two(namespace, name);
}

/* Read the value of a label, and undo its escapes in place. s: what follows the
 * opening quote. Returns what follows the closing quote, or NULL. */
static char *read_value(char *s)
{
	char *to = s;

	for (; *s != '"'; s++) {
		if (*s == '\\')
			s++;
		if (!*s)
			return NULL;
		*to++ = *s;
	}
	*to = '\0';
	return s + 1;
}

/* Read labels: name="value",… s: what follows the opening brace. Returns what
 * follows the closing brace, or NULL. */
static char *read_labels(char *s, const char *ret[LABELS])
{
	while (*s != '}') {
		size_t len = strcspn(s, "=");
		char *value = s + len + 2;

		if (!s[len] || s[len + 1] != '"')
			return NULL;
		for (size_t i = 0; i < LABELS; i++)
			if (strlen(labels[i]) == len &&
			    !memcmp(labels[i], s, len))
				ret[i] = value;
		s = read_value(value);
		if (!s)
			return NULL;
		s += *s == ',';
	}
	return s + 1;
}

static struct kube_page_gpu *gpu_of(struct kube_page *page,
                                    const char *const label[LABELS])
{
	uint64_t key = hash_two(label[UUID], label[INSTANCE]);
	struct kube_page_gpu *gpu = page->gpu;

	for (; gpu < page->gpu + page->n; gpu++)
		if (gpu->key == key)
			return gpu;
	if (page->n == KUBE_PAGE_GPUS)
		return NULL;
	page->n++;
	*gpu = (struct kube_page_gpu){
		.key = key,
		.pod = kube_page_pod(label[NAMESPACE], label[POD]),
		.percent = -1,
		.used_mib = -1,
		.free_mib = -1,
	};
	return gpu;
}

static void take(struct kube_page_gpu *gpu, enum page_metric metric,
                 double value)
{
	if (metric == ACTIVE)
		value *= 100;
	if (!(value >= 0 && value <= INT32_MAX))
		return;
	if (metric == USED)
		gpu->used_mib = (int64_t)value;
	else if (metric == FREE)
		gpu->free_mib = (int64_t)value;
	else if (value <= 100 && (metric == BUSY || !gpu->exact)) {
		gpu->percent = (int)(value + 0.5);
		gpu->exact = metric == BUSY;
	}
}

static void read_line(struct kube_page *page, char *s)
{
	const char *label[LABELS] = { 0 };
	size_t len = strcspn(s, "{"), metric = 0;
	struct kube_page_gpu *gpu;
	double value;
	char *end;

	while (metric < METRICS && (strlen(metrics[metric]) != len ||
	                            memcmp(metrics[metric], s, len)))
		metric++;
	if (metric == METRICS || !s[len])
		return;
	s = read_labels(s + len + 1, label);
	if (!s || !label[UUID] || !label[NAMESPACE] || !label[POD] ||
	    label[SHARE])
		return;
	if (!label[INSTANCE])
		label[INSTANCE] = "";
	value = strtod(s, &end);
	gpu = end == s ? NULL : gpu_of(page, label);
	if (gpu)
		take(gpu, (enum page_metric)metric, value);
}

void kube_page_end(struct kube_page *page)
{
	page->line[page->len] = '\0';
	if (!page->skips)
		read_line(page, page->line);
	page->len = 0;
	page->skips = false;
}

void kube_page_feed(struct kube_page *page, const void *data, size_t len)
{
	const char *s = data;

	for (size_t i = 0; i < len; i++)
		if (s[i] == '\n')
			kube_page_end(page);
		else if (page->len == KUBE_PAGE_LINE - 1 || !s[i])
			page->skips = true;
		else
			page->line[page->len++] = s[i];
}
