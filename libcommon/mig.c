/* mig.c - partitions of GPUs: which profiles a model has, and where each fits
 */
#include "libcommon/mig.h"

#include <stdio.h>
#include <string.h>

#include "libcommon/buf.h"
#include "libcommon/err.h"
#include "libcommon/parse.h"

#define ON(model) (1 << MIG_##model)

/*
 * X(name, units, starts, units of its models, models). Names, sizes and how
 * many instances there can be are those of "Supported MIG Profiles" in NVIDIA's
 * MIG User Guide (R610); of gh200-144, which the guide does not list, those of
 * deployments/systemd/config-default.yaml in NVIDIA's mig-parted. The starts
 * are what `nvidia-smi mig -lgipp` prints for A30, A100 and H100 (80 and 94
 * GB); the other models have the same chip or, as b200-180, the same sizes and
 * numbers. If a driver lists other places, it is not taken for the model
 * (is_model() of run/kube).
 *
 * Two profiles are left out of their models, as a profile of the same name has
 * another size elsewhere: 1g.10gb takes two units of a100-40, and 1g.24gb one
 * of the four of RTX PRO 6000, which is no model for that reason. Profiles of
 * no model are those of other GPUs, and those with media engines (+me), of
 * which a GPU has only one: they are known by name only, and are never made as
 * needed.
 */
#define PROFILES(X)                                            \
	X("1g.5gb", 1, 0x7f, 8, ON(A100_40))                   \
	X("2g.10gb", 2, 0x15, 8, ON(A100_40))                  \
	X("3g.20gb", 4, 0x11, 8, ON(A100_40))                  \
	X("4g.20gb", 4, 0x01, 8, ON(A100_40))                  \
	X("7g.40gb", 8, 0x01, 8, ON(A100_40))                  \
	X("1g.10gb", 1, 0x7f, 8, ON(A100_80) | ON(H100_80))    \
	X("1g.20gb", 2, 0x55, 8, ON(A100_80) | ON(H100_80))    \
	X("2g.20gb", 2, 0x15, 8, ON(A100_80) | ON(H100_80))    \
	X("3g.40gb", 4, 0x11, 8, ON(A100_80) | ON(H100_80))    \
	X("4g.40gb", 4, 0x01, 8, ON(A100_80) | ON(H100_80))    \
	X("7g.80gb", 8, 0x01, 8, ON(A100_80) | ON(H100_80))    \
	X("1g.18gb", 1, 0x7f, 8, ON(H200_141) | ON(GH200_144)) \
	X("1g.35gb", 2, 0x55, 8, ON(H200_141))                 \
	X("2g.35gb", 2, 0x15, 8, ON(H200_141))                 \
	X("3g.71gb", 4, 0x11, 8, ON(H200_141))                 \
	X("4g.71gb", 4, 0x01, 8, ON(H200_141))                 \
	X("7g.141gb", 8, 0x01, 8, ON(H200_141))                \
	X("1g.6gb", 1, 0x0f, 4, ON(A30))                       \
	X("2g.12gb", 2, 0x05, 4, ON(A30))                      \
	X("4g.24gb", 4, 0x01, 4, ON(A30))                      \
	X("1g.5gb+me", 1, 0x7f, 8, 0)                          \
	X("1g.10gb+me", 1, 0x7f, 8, 0)                         \
	X("1g.18gb+me", 1, 0x7f, 8, 0)                         \
	X("1g.6gb+me", 1, 0x0f, 4, 0)                          \
	X("2g.12gb+me", 2, 0x05, 4, 0)                         \
	X("1g.12gb", 1, 0x7f, 8, ON(H100_94) | ON(H100_96))    \
	X("1g.12gb+me", 1, 0x7f, 8, 0)                         \
	X("1g.24gb", 2, 0x55, 8, ON(H100_94) | ON(H100_96))    \
	X("2g.24gb", 2, 0x15, 8, ON(H100_94) | ON(H100_96))    \
	X("3g.47gb", 4, 0x11, 8, ON(H100_94))                  \
	X("3g.48gb", 4, 0x11, 8, ON(H100_96))                  \
	X("4g.47gb", 4, 0x01, 8, ON(H100_94))                  \
	X("4g.48gb", 4, 0x01, 8, ON(H100_96))                  \
	X("7g.94gb", 8, 0x01, 8, ON(H100_94))                  \
	X("7g.96gb", 8, 0x01, 8, ON(H100_96))                  \
	X("1g.23gb", 1, 0x7f, 8, ON(B200_180))                 \
	X("1g.23gb+me", 1, 0x7f, 8, 0)                         \
	X("1g.45gb", 2, 0x55, 8, ON(B200_180))                 \
	X("2g.45gb", 2, 0x15, 8, ON(B200_180))                 \
	X("3g.90gb", 4, 0x11, 8, ON(B200_180))                 \
	X("4g.90gb", 4, 0x01, 8, ON(B200_180))                 \
	X("7g.180gb", 8, 0x01, 8, ON(B200_180))                \
	X("1g.36gb", 2, 0x55, 8, ON(GH200_144))                \
	X("2g.36gb", 2, 0x15, 8, ON(GH200_144))                \
	X("3g.72gb", 4, 0x11, 8, ON(GH200_144))                \
	X("4g.72gb", 4, 0x01, 8, ON(GH200_144))                \
	X("7g.144gb", 8, 0x01, 8, ON(GH200_144))               \
	X("2g.48gb", 2, 0x05, 4, 0)                            \
	X("4g.96gb", 4, 0x01, 4, 0)

const struct mig_profile mig_profile[] = { { "none", 0, 0, 1, 0 },
#define X(name, units, starts, all, models) \
	{ name, units, starts, all, models },
	                                   PROFILES(X)
#undef X
};

_Static_assert(sizeof(mig_profile) <= MIG_PROFILES_MOST * sizeof(*mig_profile),
               "more profiles than others have room for");

const char *const mig_profile_name[] = { "none",
#define X(name, units, starts, all, models) name,
	                                 PROFILES(X)
#undef X
	                                     NULL };

const char *const mig_model_name[] = {
#define X(symbol, name, units, gb) name,
	MIG_MODELS(X)
#undef X
	    NULL
};

uint8_t mig_nprofiles(void)
{
	return sizeof(mig_profile) / sizeof(mig_profile[0]);
}

static uint8_t find(const char *const *names, const char *name)
{
	for (uint8_t i = 1; name && names[i]; i++) {
		if (!strcmp(names[i], name))
			return i;
	}
	return 0;
}

uint8_t mig_find(const char *name)
{
	/* Look at the form first, which is faster than comparing the type with
	 * all names: snapshots call this for each request. */
	return mig_is_name(name) ? find(mig_profile_name, name) : 0;
}

uint8_t mig_find_model(const char *name)
{
	return find(mig_model_name, name);
}

bool mig_is_name(const char *type)
{
	size_t n;

	if (!type || *type < '1' || *type > '7' || strncmp(type + 1, "g.", 2))
		return false;
	n = strspn(type + 3, "0123456789");
	return n && !strncmp(type + 3 + n, "gb", 2) &&
	       (!type[3 + n + 2] || type[3 + n + 2] == '+');
}

uint8_t mig_units(uint8_t model)
{
	static const uint8_t units[] = {
#define X(symbol, name, n, gb) n,
		MIG_MODELS(X)
#undef X
	};

	return units[model];
}

bool mig_is_of_size(uint8_t model, int64_t mib)
{
	static const int64_t sizes[] = {
#define X(symbol, name, n, gb) gb,
		MIG_MODELS(X)
#undef X
	};
	int64_t gb = sizes[model], has = mib * 1024 * 1024 / 1000000000;

	return has * 10 >= gb * 9 && has * 10 <= gb * 11;
}

uint8_t mig_free_starts(uint8_t profile, uint8_t used)
{
	uint8_t ret = 0;

	for (uint32_t left = mig_profile[profile].starts; left;
	     left &= left - 1) {
		uint32_t start = (uint32_t)__builtin_ctz(left);

		if (!(mig_mask(profile, start) & used))
			ret |= (uint8_t)(1u << start);
	}
	return ret;
}

/* --- partitions that are there for good --------------------------------- */

uint8_t mig_parts_starts(uint64_t parts, uint8_t profile)
{
	uint8_t ret = 0;

	for (uint32_t i = 0; i < MIG_UNITS; i++)
		ret |= (uint8_t)((mig_parts_at(parts, i) == profile) << i);
	return ret;
}

static uint8_t units_of(uint64_t parts, bool only_held)
{
	uint8_t ret = 0;

	for (uint32_t i = 0; i < MIG_UNITS; i++) {
		uint8_t profile = mig_parts_at(parts, i);
		bool held = parts >> 8 * i & MIG_HELD;

		if (held && !profile)
			ret |= (uint8_t)(1u << i);
		else if (held || !only_held)
			ret |= mig_mask(profile, i);
	}
	return ret;
}

uint8_t mig_parts_held(uint64_t parts)
{
	return units_of(parts, true);
}

uint64_t mig_parts_hold(uint64_t marks, uint8_t held)
{
	for (uint32_t i = 0; i < MIG_UNITS; i++)
		marks |= (uint64_t)(held >> i & 1 ? MIG_HELD : 0) << 8 * i;
	return marks;
}

static uint8_t first_of(uint64_t parts)
{
	uint32_t unit = (uint32_t)__builtin_ctzll(parts) / 8;

	return mig_parts_at(parts, unit);
}

uint8_t mig_parts_all(uint64_t parts)
{
	return mig_parts_fixed(parts) ? mig_profile[first_of(parts)].all : 0;
}

int64_t mig_parts_free(uint64_t parts, uint8_t model)
{
	int64_t all =
	    mig_parts_fixed(parts) ? mig_parts_all(parts) : mig_units(model);
	int64_t held = __builtin_popcount(mig_parts_held(parts));

	return all ? 1000 - 1000 * held / all : 1000;
}

bool mig_parts_add(uint64_t *parts, uint8_t profile, uint32_t start)
{
	const struct mig_profile *it = &mig_profile[profile];
	uint8_t starts = mig_free_starts(profile, units_of(*parts, false));

	for (uint32_t i = 0; *parts && i < MIG_UNITS; i++) {
		const struct mig_profile *at =
		    &mig_profile[mig_parts_at(*parts, i)];

		if (at->units &&
		    (at->all != it->all ||
		     (at->models && it->models && !(at->models & it->models))))
			return false;
	}
	if (start == MIG_UNITS && starts)
		start = (uint32_t)__builtin_ctz(starts);
	if (start >= MIG_UNITS || !(starts >> start & 1))
		return false;
	*parts |= (uint64_t)profile << 8 * start;
	return true;
}

/* Read "PROFILE[@START][*N][!]", and add these partitions. */
static int add_item(const char *text, uint64_t *ret, struct err *err)
{
	char item[64], *held, *times, *at;
	int64_t n = 1, start = MIG_UNITS;
	uint64_t had = *ret;
	uint8_t profile;

	snprintf(item, sizeof(item), "%s", text);
	if ((held = strchr(item, '!')) != NULL && !held[1])
		*held = 0;
	if ((times = strchr(item, '*')) != NULL)
		*times++ = 0;
	if ((at = strchr(item, '@')) != NULL)
		*at++ = 0;
	profile = mig_find(item);
	if (!profile)
		return err_set(err, EINVAL, "there is no MIG profile '%s'",
		               item);
	if ((times && parse_int(times, 1, MIG_UNITS, &n, NULL) < 0) ||
	    (at && parse_int(at, 0, MIG_UNITS - 1, &start, NULL) < 0))
		return err_set(err, EINVAL,
		               "bad partition '%s': use PROFILE@START or "
		               "PROFILE*N, like 3g.40gb@4 or 1g.10gb*7",
		               text);
	for (; n > 0; n--) {
		if (!mig_parts_add(ret, profile, (uint32_t)start))
			return err_set(err, EINVAL,
			               "partition '%s' has no place on its GPU",
			               text);
		start = at ? start + mig_profile[profile].units : MIG_UNITS;
	}
	for (uint32_t i = 0; held && i < MIG_UNITS; i++) {
		if (mig_parts_at(*ret, i) && !mig_parts_at(had, i))
			*ret |= (uint64_t)MIG_HELD << 8 * i;
	}
	return 0;
}

int mig_parts_parse(const char *text, char between, uint64_t *ret,
                    struct err *err)
{
	uint64_t parts = 0;

	for (const char *at = text;; at++) {
		const char *end = strchr(at, between);
		int len = (int)(end ? end - at : (long)strlen(at));
		char item[64];

		snprintf(item, sizeof(item), "%.*s", len, at);
		if (add_item(item, &parts, err) < 0)
			return -1;
		if (!end)
			break;
		at = end;
	}
	*ret = parts;
	return 0;
}

bool mig_marks_parse(const char *text, char between, uint64_t *ret)
{
	uint64_t marks = 0;

	for (;;) {
		size_t len = strcspn(text, (char[]){ between, 0 });

		if (len == 5 && !strncmp(text, "split", len))
			marks |= MIG_NO_WHOLE;
		else if (len == 5 && !strncmp(text, "whole", len))
			marks |= MIG_NO_PARTS;
		else if (len == 3 && *text == '@' && text[2] == '!' &&
		         text[1] >= '0' && text[1] < '0' + MIG_UNITS)
			marks |= (uint64_t)MIG_HELD << 8 * (text[1] - '0');
		else
			return false;
		text += len;
		if (!*text++)
			break;
	}
	*ret = marks;
	return true;
}

void mig_parts_put(uint64_t parts, char between, struct buf *out)
{
	size_t before = out->len;

	if (!mig_parts_fixed(parts) && parts & MIG_NO_WHOLE)
		buf_puts(out, "split");
	if (!mig_parts_fixed(parts) && parts & MIG_NO_PARTS)
		buf_printf(out, "%.*swhole", out->len > before, &between);
	for (uint32_t i = 0; i < MIG_UNITS; i++) {
		uint8_t profile = mig_parts_at(parts, i);
		bool held = parts >> 8 * i & MIG_HELD;

		if (!profile && !held)
			continue;
		if (out->len > before)
			buf_addc(out, between);
		buf_printf(out, "%s@%u%s",
		           profile ? mig_profile[profile].name : "",
		           (unsigned)i, held ? "!" : "");
	}
}

void mig_put_profiles(struct buf *out, unsigned models, const char *like)
{
	const char *between = "";

	for (uint8_t i = 1; mig_profile_name[i]; i++) {
		if (!(mig_profile[i].models & models) ||
		    (like && *mig_profile_name[i] != *like))
			continue;
		buf_puts(out, between);
		buf_puts(out, mig_profile[i].name);
		between = ", ";
	}
}
