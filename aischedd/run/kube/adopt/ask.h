/*
 * ask.h - calls about Jobs that others made
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_ASK_H
#define AISCHEDD_RUN_KUBE_ADOPT_ASK_H

#include <jansson.h>
#include <stdbool.h>

struct kube;
struct kube_adopt_pod;
struct kube_adoptee;

enum kube_adopt_kind {
	ADOPT_CLAIM,
	ADOPT_RESUME,
	ADOPT_SUSPEND,
	ADOPT_EXPIRE, /* fail it: its time limit has passed */
	ADOPT_DELETE,
	ADOPT_VOLUME, /* say where the volume of a claim shall be made */
	ADOPT_BIND,   /* bind a pod; the others below are about pods, too */
	ADOPT_FORCE,  /* delete a pod without waiting for its node */
	ADOPT_KINDS
};

/* Whether a call about it is not answered yet. */
bool kube_adopt_ask_is_open(const struct kube_adoptee *j);

/* Make a call unless one of that kind is unanswered; takes the body. */
void kube_adopt_ask(struct kube_adoptee *j, enum kube_adopt_kind kind,
                    json_t *body);
void kube_adopt_ask_pod(struct kube_adopt_pod *p, enum kube_adopt_kind kind,
                        json_t *body);
void kube_adopt_ask_volume(struct kube_adoptee *j, const char *claim,
                           json_t *body);
void kube_adopt_ask_free_all(struct kube *kube);

#endif
