/* blob.c - store scripts and environments, and the tokens of submissions */
#include "aischedd/store/blob.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "aischedd/store/own.h"
#include "libcommon/mem.h"

int64_t store_blob(struct store *store, const void *data, size_t len,
                   struct err *err)
{
	unsigned char hash[SHA256_DIGEST_LENGTH];
	struct new_blob *blob;
	SHA2_CTX sha;
	struct stmt s;
	int more;

	SHA256Init(&sha);
	SHA256Update(&sha, data, len);
	SHA256Final(hash, &sha);
	for (size_t i = 0; i < store->nblobs; i++)
		if (!memcmp(store->blob[i].hash, hash, sizeof(hash)))
			return store->blob[i].id;
	s = db_use(&store->db, FIND_BLOB);
	db_blob(&s, 1, hash, sizeof(hash));
	more = db_step(&store->db, &s, err);
	if (more < 0)
		return -1;
	if (more > 0) {
		int64_t id = db_col_i64(&s, 0, 0);

		sqlite3_reset(s.s);
		map_set(&store->lent, (uint64_t)id, store);
		return id;
	}
	store->blob = GROW(store->blob, store->nblobs, &store->blob_cap);
	blob = &store->blob[store->nblobs++];
	blob->id = store->next_blob++;
	memcpy(blob->hash, hash, sizeof(hash));
	blob->data = xmalloc(len ? len : 1);
	memcpy(blob->data, data, len);
	blob->len = len;
	return blob->id;
}

int store_blob_get(struct store *store, int64_t id, struct buf *ret,
                   struct err *err)
{
	struct stmt s = db_use(&store->db, GET_BLOB);
	int more;

	db_i64(&s, 1, id);
	more = db_step(&store->db, &s, err);
	if (more == 0)
		return err_set(err, ENOENT, "there is no blob %lld",
		               (long long)id);
	if (more < 0)
		return -1;
	buf_add(ret, sqlite3_column_blob(s.s, 0),
	        (size_t)sqlite3_column_bytes(s.s, 0));
	sqlite3_reset(s.s);
	return 0;
}

void store_token(struct store *store, const char *token, uint32_t uid,
                 uint64_t first_id, uint32_t count, int64_t now)
{
	struct new_token *t;

	store->token = GROW(store->token, store->ntokens, &store->token_cap);
	t = &store->token[store->ntokens++];
	*t = (struct new_token){
		.uid = uid, .count = count, .first_id = first_id, .time = now
	};
	snprintf(t->token, sizeof(t->token), "%s", token);
}

bool store_token_find(struct store *store, const char *token, uint32_t uid,
                      uint64_t *ret_first, uint32_t *ret_count)
{
	struct stmt s;
	bool found = false;

	for (size_t i = 0; i < store->ntokens; i++) {
		const struct new_token *t = &store->token[i];

		if (t->uid != uid || strcmp(t->token, token))
			continue;
		*ret_first = t->first_id;
		*ret_count = t->count;
		return true;
	}
	s = db_use(&store->db, FIND_TOKEN);
	db_text(&s, 1, token);
	if (db_step(&store->db, &s, NULL) > 0) {
		found = db_col_i64(&s, 0, -1) == uid;
		*ret_first = (uint64_t)db_col_i64(&s, 1, 0);
		*ret_count = (uint32_t)db_col_i64(&s, 2, 0);
		sqlite3_reset(s.s);
	}
	return found;
}

int blob_put_new(struct store *store, struct err *err)
{
	for (size_t i = 0; i < store->nblobs; i++) {
		const struct new_blob *blob = &store->blob[i];
		struct stmt s = db_use(&store->db, PUT_BLOB);

		db_i64(&s, 1, blob->id);
		db_blob(&s, 2, blob->hash, sizeof(blob->hash));
		db_blob(&s, 3, blob->data, blob->len);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < store->ntokens; i++) {
		const struct new_token *t = &store->token[i];
		struct stmt s = db_use(&store->db, PUT_TOKEN);

		db_text(&s, 1, t->token);
		db_i64(&s, 2, t->uid);
		db_i64(&s, 3, (int64_t)t->first_id);
		db_i64(&s, 4, t->count);
		db_i64(&s, 5, t->time);
		if (db_run(&store->db, &s, err) < 0)
			return -1;
	}
	return 0;
}

void blob_forget_new(struct store *store)
{
	for (size_t i = 0; i < store->nblobs; i++)
		free(store->blob[i].data);
	store->nblobs = store->ntokens = 0;
	map_free(&store->lent);
}
