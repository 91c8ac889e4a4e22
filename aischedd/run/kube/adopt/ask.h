/*
 * ask.h - make calls about Jobs made with kubectl
 */
#ifndef AISCHEDD_RUN_KUBE_ADOPT_ASK_H
#define AISCHEDD_RUN_KUBE_ADOPT_ASK_H

#include <jansson.h>
#include <stdbool.h>

struct kube;
struct kube_adopt_pod;
struct kube_adoptee;

enum kube_adopt_kind {
	ADOPT_CLAIM,  /* label the Job as ours */
	ADOPT_RESUME, /* resume the suspended Job */
	ADOPT_SUSPEND,
	ADOPT_EXPIRE, /* make the Job fail, as its time limit has passed */
	ADOPT_DELETE,
	ADOPT_VOLUME,     /* set the node for which a claim's volume is made */
	ADOPT_GRANT_TAKE, /* note in a ResourceClaim for what it is taken */
	ADOPT_GRANT_FILL, /* allocate GPUs to it, or reserve it for a pod */
	ADOPT_GRANT_FREE, /* free its GPUs */
	ADOPT_BIND,       /* bind a pod */
	ADOPT_FORCE,      /* delete a pod without waiting for its node */
	ADOPT_KINDS
};

/* Whether a call about the Job or one of its pods is not answered yet. */
bool kube_adopt_ask_is_open(const struct kube_adoptee *j);

/* Make a call about the Job, unless one of that kind is unanswered; takes the
 * body. */
void kube_adopt_ask(struct kube_adoptee *j, enum kube_adopt_kind kind,
                    json_t *body);
void kube_adopt_ask_pod(struct kube_adopt_pod *p, enum kube_adopt_kind kind,
                        json_t *body);
void kube_adopt_ask_grant(struct kube_adoptee *j, enum kube_adopt_kind kind,
                          const char *claim, json_t *body);
void kube_adopt_ask_volume(struct kube_adoptee *j, const char *claim,
                           json_t *body);
void kube_adopt_ask_free_all(struct kube *kube);

#endif
