/*
 * note.h - write Events, for `kubectl describe` of a Job that others made
 *
 * The last Event of each Job is kept until it can be written; repeated Events
 * become a series. They go out a few at a time, after all other calls.
 */
#ifndef AISCHEDD_RUN_KUBE_NOTE_H
#define AISCHEDD_RUN_KUBE_NOTE_H

#include <stdbool.h>
#include <sys/queue.h>

#include "libcommon/err.h"

struct kube;
struct kube_adoptee;

struct kube_note {
	char *code, *text; /* NULL: nothing to write */
	bool warning;
};

struct kube_notes {
	TAILQ_HEAD(, kube_saying) list; /* calls in progress */
	unsigned n;
	struct err mute; /* why Events cannot be written; code 0: they can */
};

/* code: a word in CamelCase; text: a sentence. */
void kube_note(struct kube_adoptee *j, bool warning, const char *code,
               const char *text);

/* Write what is to be written, if that is possible now. */
void kube_note_step(struct kube_adoptee *j);

void kube_note_fini(struct kube_note *note);
void kube_note_free_all(struct kube *kube);

#endif
