/*
 * session.h - who has logged in to the page
 *
 * A link is used once, within LINK_MS, and begins a session, which a cookie
 * names. Only SHA-256 of both is kept, in memory: a restart of the daemon logs
 * everybody out, a restart of the web program does not. A user has at most
 * SESSIONS_USER links and as many sessions, all users together SESSIONS_MAX of
 * each; the oldest is dropped. A session keeps the groups that its user had
 * when the link was made; what these groups may do is looked up for each
 * request.
 *
 * Users whom a proxy names are remembered by their names, separately and for
 * NAMED_MS only, so it is soon noticed if a user has left a group or the
 * machine. The web program may ask for any of them, so they have no secret.
 */
#ifndef AISCHEDD_SESSION_H
#define AISCHEDD_SESSION_H

#include <jansson.h>
#include <stdint.h>

#include "aischedd/rpc/rpc.h"

enum {
	LINK_MS = 60000,
	SESSIONS_USER = 16,
	SESSIONS_MAX = 1000,
	SESSION_TEXT = 64, /* hex digits of a link's token, or of a cookie */
	NAMED_MS = 300000
};

struct sessions;

struct sessions *sessions_new(void);
void sessions_free(struct sessions *s); /* NULL is allowed */

/* Make a link for this user; its token is in ret. */
void session_link(struct sessions *s, const struct peer *peer, int64_t now_ms,
                  char ret[SESSION_TEXT + 1]);

/* Use a link: returns its user and the cookie of a new session; NULL if there
 * is no such link or it is too old. */
const struct peer *session_begin(struct sessions *s, const char *token,
                                 int64_t now_ms, int64_t life_ms,
                                 char ret[SESSION_TEXT + 1]);

/* Remember a user whom the proxy names; takes peer. The oldest of SESSIONS_MAX
 * is forgotten. */
void session_name(struct sessions *s, struct peer *peer, int64_t now_ms);

/* Returns the user of a session, or NULL; cookie may also be "=" and the name
 * of a remembered user. Owns: the caller, free(). */
struct peer *session_find(struct sessions *s, const char *cookie, size_t len,
                          int64_t now_ms);

/* Returns a copy of a user; owns: the caller, free(). */
struct peer *session_copy(const struct peer *peer);

void session_end(struct sessions *s, const char *cookie);

/* End all sessions and links of this user; returns how many. */
size_t session_end_all(struct sessions *s, uid_t uid);

/* Count the sessions; of one user, or of all if uid is -1. */
size_t session_count(struct sessions *s, uid_t uid, int64_t now_ms);

/* Sessions of a user: [{"began", "until"}], unix seconds. */
json_t *session_list(struct sessions *s, uid_t uid, int64_t now_ms,
                     int64_t wall_s);

#endif
