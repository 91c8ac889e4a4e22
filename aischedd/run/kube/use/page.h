/*
 * page.h - read the page of dcgm-exporter: how busy the GPUs of a node are
 *
 * NVIDIA's exporter prints samples in Prometheus' text format, and labels each
 * with the GPU and the pod that has it. The names of the metrics and labels are
 * those of https://github.com/NVIDIA/dcgm-exporter. The page arrives in parts
 * of any size. Lines that are malformed, or longer than KUBE_PAGE_LINE, are
 * skipped. Pure.
 */
#ifndef AISCHEDD_RUN_KUBE_USE_PAGE_H
#define AISCHEDD_RUN_KUBE_USE_PAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	KUBE_PAGE_LINE = 4096,
	KUBE_PAGE_GPUS = 512 /* GPUs and MIG instances kept, at most */
};

/* A GPU, or a MIG instance, that a pod has. */
struct kube_page_gpu {
	uint64_t key; /* hash of its UUID and the number of its instance */
	uint64_t pod; /* key of the pod, from kube_page_pod() */
	int percent;  /* how busy it is, 0 to 100; -1: not known */
	bool exact;   /* `percent` is the driver's own figure */
	int64_t used_mib, free_mib; /* its memory; -1: not known */
};

struct kube_page {
	struct kube_page_gpu gpu[KUBE_PAGE_GPUS];
	uint32_t n;
	char line[KUBE_PAGE_LINE];
	size_t len;
	bool skips; /* the rest of the current line is ignored */
};

/* Returns the key by which a page names a pod. */
uint64_t kube_page_pod(const char *namespace, const char *name);

/* Read the next part of a page. A zeroed struct is ready for the first. */
void kube_page_feed(struct kube_page *page, const void *data, size_t len);

/* Read the last line, if no newline has ended it. */
void kube_page_end(struct kube_page *page);

#endif
