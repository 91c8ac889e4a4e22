/*
 * note.h - write Events that `kubectl describe` shows with a Job made with
 * kubectl
 *
 * For each Job only the latest Event is kept until it can be written; a
 * repeated Event is written as a series. Events have the lowest urgency of all
 * calls, and only a few are sent at a time.
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

/* Set the Event that is written next about the Job, in place of one that is not
 * written yet. code: a word in CamelCase; text: a sentence. */
void kube_note(struct kube_adoptee *j, bool warning, const char *code,
               const char *text);

/* Send the Job's Event, if there is one and few enough calls are open. */
void kube_note_step(struct kube_adoptee *j);

void kube_note_fini(struct kube_note *note);
void kube_note_free_all(struct kube *kube);

#endif
