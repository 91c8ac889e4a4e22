/* note.c - write Events that `kubectl describe` shows with a Job made with
 * kubectl */
#include "aischedd/run/kube/note.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/run/kube/client/json.h"
#include "aischedd/run/kube/client/path.h"
#include "aischedd/run/kube/kube.h"
#include "libcommon/buf.h"
#include "libcommon/clock.h"
#include "libcommon/mem.h"
#include "libcommon/rfc3339.h"

enum {
	AT_ONCE = 8,    /* most calls in progress at a time */
	TEXT_MAX = 1024 /* most bytes of an Event's text, a limit of the API */
};

/* A call in progress. */
struct kube_saying {
	TAILQ_ENTRY(kube_saying) of_list;
	struct kube *kube;
	const struct kube_space *space;
	char *name; /* name of the Event */
};

static void saying_free(struct kube_saying *s)
{
	TAILQ_REMOVE(&s->kube->notes.list, s, of_list);
	s->kube->notes.n--;
	free(s->name);
	free(s);
}

void kube_note_free_all(struct kube *kube)
{
	struct kube_saying *s;

	while ((s = TAILQ_FIRST(&kube->notes.list)))
		saying_free(s);
}

void kube_note_fini(struct kube_note *note)
{
	free(note->code);
	free(note->text);
	*note = (struct kube_note){ 0 };
}

static void now_text(char ret[28])
{
	rfc3339_format(clock_wall_us(), ret);
}

static void send_call(struct kube_saying *s, enum kube_method method,
                      const char *name, json_t *body, kube_done_fn *done)
{
	struct kube *kube = s->kube;
	struct buf path = { 0 };

	buf_puts(&path, "/apis/events.k8s.io/v1/namespaces");
	kube_path_name(&path, s->space->name);
	buf_puts(&path, "/events");
	if (name)
		kube_path_name(&path, name);
	kube_lease_send(
	    kube->lease, &path, body,
	    &(struct kube_request){
		.method = method, .rank = KUBE_NOTE, .done = done, .arg = s });
}

/* --- write a repeated Event as a series --- */

/* Handle the answer to the call that writes an Event. An error is kept for
 * kube_trouble_tell() until an Event can be written. */
static void on_said(const struct kube_answer *answer, void *arg)
{
	struct kube_saying *s = arg;

	if (answer->err)
		s->kube->notes.mute = *answer->err;
	else
		s->kube->notes.mute.code = 0;
	saying_free(s);
}

static void on_found(const struct kube_answer *answer, void *arg)
{
	struct kube_reader r = { .obj = answer->body };
	struct kube_saying *s = arg;
	int64_t n = kube_int(&r, "series.count", 1);
	char now[28];

	if (answer->err) {
		on_said(answer, arg);
		return;
	}
	now_text(now);
	send_call(s, KUBE_MERGE, s->name,
	          json_pack("{s:{s:I, s:s}}", "series", "count",
	                    (json_int_t)n + 1, "lastObservedTime", now),
	          on_said);
}

static void on_posted(const struct kube_answer *answer, void *arg)
{
	struct kube_saying *s = arg;

	if (answer->err && answer->err->code == EEXIST)
		send_call(s, KUBE_GET, s->name, NULL, on_found);
	else
		on_said(answer, arg);
}

/* --- write an Event --- */

/* Returns the length of a text, cut between two characters to fit TEXT_MAX. */
static size_t fitting(const char *text)
{
	size_t len = strlen(text);

	if (len < TEXT_MAX)
		return len;
	for (len = TEXT_MAX - 1;
	     len && ((unsigned char)text[len] & 0xc0) == 0x80;)
		len--;
	return len;
}

static json_t *event_of(const struct kube_adoptee *j, const char *name)
{
	const struct kube *kube = j->kube;
	const char *namespace = j->space->name;
	char now[28];

	now_text(now);
	return json_pack(
	    "{s:s, s:s, s:{s:s, s:s}, s:s, s:s, s:s, s:s, s:s, s:s, s:s%,"
	    " s:{s:s, s:s, s:s, s:s, s:s}}",
	    "apiVersion", "events.k8s.io/v1", "kind", "Event", "metadata",
	    "name", name, "namespace", namespace, "eventTime", now,
	    "reportingController", "aisched.io/aischedd", "reportingInstance",
	    kube->lease_name, "action", "Schedule", "reason", j->note.code,
	    "type", j->note.warning ? "Warning" : "Normal", "note",
	    j->note.text, fitting(j->note.text), "regarding", "apiVersion",
	    j->at.plain ? "v1" : "batch/v1", "kind",
	    j->at.plain ? "Pod" : "Job", "namespace", namespace, "name",
	    j->at.name, "uid", j->at.uid);
}

void kube_note_step(struct kube_adoptee *j)
{
	struct kube *kube = j->kube;
	struct kube_saying *s;
	uint64_t hash;

	if (!j->note.code || !j->space || !*j->at.name ||
	    kube->notes.n >= AT_ONCE)
		return;
	hash = hash_bytes(kube_text_key(j->at.uid), j->note.code,
	                  strlen(j->note.code));
	hash = hash_bytes(hash, j->note.text, strlen(j->note.text));
	s = xcalloc(1, sizeof(*s));
	s->kube = kube;
	s->space = j->space;
	s->name = xasprintf("%s.%016" PRIx64, j->at.name, hash);
	TAILQ_INSERT_TAIL(&kube->notes.list, s, of_list);
	kube->notes.n++;
	send_call(s, KUBE_POST, NULL, event_of(j, s->name), on_posted);
	kube_note_fini(&j->note);
}

void kube_note(struct kube_adoptee *j, bool warning, const char *code,
               const char *text)
{
	kube_note_fini(&j->note);
	j->note = (struct kube_note){ .code = xstrdup(code),
		                      .text = xstrdup(text),
		                      .warning = warning };
	if (kube_lease_left_ms(j->kube->lease))
		kube_note_step(j);
}
