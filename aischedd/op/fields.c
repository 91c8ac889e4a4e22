/* fields.c - check the fields of a request */
#include "aischedd/op/fields.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "libcommon/limits.h"
#include "libcommon/mem.h"

static bool is_text(const json_t *value)
{
	return json_is_string(value);
}

static bool is_int(const json_t *value)
{
	return json_is_integer(value);
}

static bool is_bool(const json_t *value)
{
	return json_is_boolean(value);
}

static bool is_texts(const json_t *value)
{
	const json_t *item;
	size_t i;

	if (!json_is_array(value) || json_array_size(value) > LIMIT_IDS)
		return false;
	json_array_foreach(value, i, item)
		if (!json_is_string(item))
			return false;
	return true;
}

static bool is_object_of_texts(const json_t *value)
{
	const char *key;
	json_t *item;

	/* json_object_foreach() does not accept a const object, but does not
	 * change it. */
	json_object_foreach((json_t *)(uintptr_t)value, key, item)
		if (!json_is_string(item))
			return false;
	return json_is_object(value);
}

static bool is_objects(const json_t *value)
{
	const json_t *item;
	size_t i;

	json_array_foreach(value, i, item)
		if (!json_is_object(item))
			return false;
	return json_is_array(value);
}

static const struct field_type {
	char letter;
	bool (*fits)(const json_t *value);
	const char *name;
} types[] = {
	{ 't', is_text, "a text" },
	{ 'i', is_int, "a whole number" },
	{ 'b', is_bool, "true or false" },
	{ 'l', is_texts, "a list of at most 10000 texts" },
	{ 'o', is_object_of_texts, "an object of texts" },
	{ 'j', is_objects, "a list of objects" },
};
_Static_assert(LIMIT_IDS == 10000, "the text above says so");

/* Returns the type of the named field in a list such as "ids=l signal=i", or
 * NULL if the list does not have it. */
static const struct field_type *type_of(const char *fields, const char *name)
{
	size_t len = strlen(name);

	for (const char *at = fields; *at; at += strspn(at, " ")) {
		size_t n = strcspn(at, "=");

		for (size_t i = 0; i < ARRAY_SIZE(types); i++)
			if (n == len && !strncmp(at, name, n) &&
			    types[i].letter == at[n + 1])
				return &types[i];
		at += n + 2;
	}
	return NULL;
}

int fields_check(const char *fields, json_t *body, struct err *err)
{
	const char *op = json_string_value(json_object_get(body, "op"));
	const struct field_type *type;
	const char *name;
	json_t *value;

	json_object_foreach(body, name, value) {
		if (!strcmp(name, "op"))
			continue;
		type = type_of(fields, name);
		if (!type)
			return err_set(err, EPROTO,
			               "request '%s' has no field '%s'", op,
			               name);
		if (!type->fits(value))
			return err_set(err, EPROTO,
			               "field '%s' of request '%s' must be %s",
			               name, op, type->name);
	}
	return 0;
}
