/*
 * session.h - who has logged in to the page
 *
 * A link can be used once, within LINK_MS. It begins a session, which a cookie
 * names. Links and cookies are kept only as SHA-256, in memory: a restart of
 * the daemon logs everybody out, a restart of the web program does not. A user
 * may have SESSIONS_USER links and SESSIONS_USER sessions; all users together
 * may have SESSIONS_MAX links and SESSIONS_MAX sessions. When one more is made,
 * the oldest is dropped. A session keeps the groups that its user had when the
 * link was made; what these groups may do is checked for each request.
 *
 * Users whom a proxy names are kept in another list, by name. An entry is kept
 * for NAMED_MS only, so that the daemon soon notices if a user has left a group
 * or the machine. No secret protects this list: the web program may ask for any
 * name in it.
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

/* Make a link for this user, and write its token to ret. */
void session_link(struct sessions *s, const struct peer *peer, int64_t now_ms,
                  char ret[SESSION_TEXT + 1]);

/* Use up the link with this token, and begin a session of life_ms. Returns its
 * user and writes its cookie to ret; returns NULL if there is no such link or
 * it has expired. */
const struct peer *session_begin(struct sessions *s, const char *token,
                                 int64_t now_ms, int64_t life_ms,
                                 char ret[SESSION_TEXT + 1]);

/* Remember a user whom the proxy named; takes over peer. If SESSIONS_MAX are
 * remembered already, the oldest is forgotten. */
void session_name(struct sessions *s, struct peer *peer, int64_t now_ms);

/* Returns a copy of the user of a session, or NULL; the caller frees it. cookie
 * may also be "=" and the name of a remembered user. */
struct peer *session_find(struct sessions *s, const char *cookie, size_t len,
                          int64_t now_ms);

/* Returns a copy of a user; the caller frees it. */
struct peer *session_copy(const struct peer *peer);

void session_end(struct sessions *s, const char *cookie);

/* End all sessions and links of this user. Returns how many were ended. */
size_t session_end_all(struct sessions *s, uid_t uid);

/* Returns the number of sessions of one user, or of all users if uid is -1. */
size_t session_count(struct sessions *s, uid_t uid, int64_t now_ms);

/* Returns the sessions of a user as [{"began", "until"}], in Unix seconds. */
json_t *session_list(struct sessions *s, uid_t uid, int64_t now_ms,
                     int64_t wall_s);

#endif
