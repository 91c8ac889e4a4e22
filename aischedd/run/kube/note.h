/*
 * note.h - Events: what `kubectl describe` says about a Job of others
 *
 * The last thing to be said of a Job is kept until it can be said; saying the
 * same again makes the same Event a series.  A few at a time go out, behind
 * everything else.
 */
#ifndef AISCHEDD_RUN_KUBE_NOTE_H
#define AISCHEDD_RUN_KUBE_NOTE_H

#include <stdbool.h>

struct kube;
struct kube_adoptee;

struct kube_note {
	char *code, *text; /* NULL: nothing is to be said */
	bool warning;
};

/* code: a word in CamelCase; text: a sentence. */
void kube_note(struct kube_adoptee *j, bool warning, const char *code,
               const char *text);

/* Say what is to be said, if that can be now. */
void kube_note_step(struct kube_adoptee *j);

void kube_note_fini(struct kube_note *note);
void kube_notes_free(struct kube *kube);

#endif
