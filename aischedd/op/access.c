/* access.c - what a peer may do */
#include "aischedd/op/access.h"

#include <string.h>
#include <unistd.h>

#include "aischedd/daemon.h"
#include "aischedd/state/life/submit.h"
#include "aischedd/store/ended.h"
#include "libcommon/steps.h"

static bool in_list(const struct strlist *list, const struct peer *peer)
{
	for (size_t i = 0; i < list->n; i++) {
		const char *s = list->s[i];

		if (s[0] != '@') {
			if (!strcmp(s, peer->user))
				return true;
			continue;
		}
		for (size_t g = 0; g < peer->ngroups; g++)
			if (!strcmp(peer->group_name[g], s + 1))
				return true;
	}
	return false;
}

enum role access_role(const struct daemon *d, const struct peer *peer)
{
	if (!peer->known)
		return ROLE_NOBODY;
	if (peer->plain)
		return ROLE_USER;
	if (peer->uid == 0 || peer->uid == geteuid() ||
	    in_list(&d->conf->admins, peer))
		return ROLE_ADMIN;
	if (in_list(&d->conf->operators, peer))
		return ROLE_OPERATOR;
	return ROLE_USER;
}

bool access_operates(const struct daemon *d, const struct peer *peer,
                     uint32_t queue)
{
	if (!peer->known || peer->plain)
		return false;
	if (access_role(d, peer) >= ROLE_OPERATOR)
		return true;
	for (int q = (int)queue; q >= 0; q = d->conf->queues[q].parent)
		if (in_list(&d->conf->queues[q].operators, peer))
			return true;
	return false;
}

bool access_job(const struct daemon *d, const struct peer *peer,
                const struct job *job)
{
	return job->uid == peer->uid || access_operates(d, peer, job->queue);
}

bool access_read(const struct daemon *d, const struct peer *peer, uint32_t uid,
                 int queue)
{
	if (uid == peer->uid || access_role(d, peer) >= ROLE_OPERATOR)
		return true;
	return queue >= 0 && access_operates(d, peer, (uint32_t)queue);
}

bool access_hides(const struct daemon *d, const struct peer *peer,
                  const char *what)
{
	const struct strlist *list = &d->conf->private;

	if (access_role(d, peer) >= ROLE_OPERATOR)
		return false;
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->s[i], what))
			return true;
	return false;
}

int access_refuse(const struct daemon *d, const struct peer *peer,
                  const char *job, struct err *err)
{
	if (access_hides(d, peer, "jobs"))
		return err_set(err, ENOENT, "there is no job %s", job);
	return err_set(err, EPERM, "job %s is not yours", job);
}

bool access_sees(const struct daemon *d, const struct peer *peer, uint64_t id,
                 uint32_t task)
{
	const struct array *array = state_array(d->state, id);
	const struct job *job = array ? array->first : state_job(d->state, id);
	struct past past;

	if (!access_hides(d, peer, "jobs"))
		return true;
	if (job)
		return access_job(d, peer, job);
	steps_add(STEPS_QUERY);
	return store_past(id, task, &past, d->store) == 0 &&
	       past.uid == peer->uid;
}

json_t *access_queues(const struct daemon *d, const struct peer *peer)
{
	json_t *names = json_array();

	for (size_t q = 0; q < d->conf->nqueues; q++)
		if (access_operates(d, peer, (uint32_t)q))
			json_array_append_new(
			    names, json_string(d->conf->queues[q].name));
	return names;
}

static bool in_group(const char *group, const void *arg)
{
	const struct peer *peer = arg;

	for (size_t i = 0; i < peer->ngroups; i++)
		if (!strcmp(peer->group_name[i], group))
			return true;
	return false;
}

struct submitter access_submitter(const struct peer *peer)
{
	return (struct submitter){ .uid = peer->uid,
		                   .gid = peer->gid,
		                   .user = peer->user,
		                   .in_group = in_group,
		                   .arg = peer };
}
