/*
 * note.h - Events: what `kubectl describe` says about a Job of others
 *
 * Of each Job the last thing to be said is kept until it can be said; saying
 * the same again makes the same Event a series.  A few at a time go out, behind
 * everything else.
 */
#ifndef AISCHEDD_RUN_KUBE_NOTE_H
#define AISCHEDD_RUN_KUBE_NOTE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "libcommon/err.h"

struct kube;
struct kube_adoptee;

struct kube_note {
	char *code, *text; /* NULL: nothing is to be said */
	bool warning;
};

struct kube_notes {
	TAILQ_HEAD(, kube_saying) list; /* calls under way */
	unsigned n;
	struct err mute; /* why Events cannot be written; code 0: they can */
};

/* code: a word in CamelCase; text: a sentence. */
void kube_note(struct kube_adoptee *j, bool warning, const char *code,
               const char *text);

/* Say what is to be said, if that can be done now. */
void kube_note_step(struct kube_adoptee *j);

void kube_note_fini(struct kube_note *note);
void kube_note_free_all(struct kube *kube);

#endif
